import { appendFile, mkdtemp, readdir, readFile, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { configurationDigest } from "../../../src/look/digest.ts";
import { sha256Hex } from "../../../src/platform/crypto.ts";
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

test("quickstart, its files are edited while it stays up: says each re-registration", async () => {
  const temporary = await mkdtemp(join(tmpdir(), "quickstart-test-"));
  await using program = startWords([process.execPath, SCRIPT], { TMPDIR: temporary });
  await program.wrote("Ctrl-C stops everything");
  const [folder = ""] = await readdir(temporary);
  for (const joint of ["left", "right"]) {
    await appendFile(join(temporary, folder, `yam_${joint}.yaml`), "home_offset_deg: 2.5\n");
    const contents = await Promise.all(
      ["left", "right"].map((side) => readFile(join(temporary, folder, `yam_${side}.yaml`))),
    );
    await program.wrote(`with ${configurationDigest(contents.map(sha256Hex))}`);
  }
  program.child.kill("SIGINT");
  expect(await program.ended()).toBe(130);
  await rmdir(temporary);
});

/** Command lines of running processes. */
async function processesThatName(path: string): Promise<readonly string[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")));
  return lines.filter((line) => line.includes(path));
}
