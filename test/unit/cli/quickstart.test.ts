import { mkdtemp, readdir, readFile, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { startWords } from "../../support/programs/command.ts";

const SCRIPT = join(import.meta.dirname, "../../../scripts/quickstart.ts");

test.each([
  ["its terminal is closed", "It stays up", "SIGHUP", 129],
  ["Ctrl-C is pressed repeatedly", "Start the agent", "SIGINT", 130],
  ["it receives SIGTERM", "Start a robot policy service", "SIGTERM", 143],
] as const)("quickstart, when %s at '%s': no process, folder or key is left", async (_what, step, signal, exitCode) => {
  const temporary = await mkdtemp(join(tmpdir(), "quickstart-test-"));
  await using program = startWords([process.execPath, SCRIPT], { TMPDIR: temporary });
  await program.wrote(step);
  const impatience = setInterval(() => program.child.kill(signal), 2);
  onTestFinished(() => clearInterval(impatience));
  expect(await program.ended()).toBe(exitCode);
  await expect.poll(() => processesThatName(temporary)).toEqual([]);
  await rmdir(temporary);
});

/** Command lines of running processes. */
async function processesThatName(path: string): Promise<readonly string[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")));
  return lines.filter((line) => line.includes(path));
}
