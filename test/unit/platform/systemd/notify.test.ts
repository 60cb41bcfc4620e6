import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, expect, test } from "vitest";

import { testFolder } from "../../../support/folder.ts";
import { execute } from "../../../support/programs/execute.ts";

let folder = "";
beforeEach(async () => {
  folder = testFolder("notify");
  // Replaces systemd-notify(1): records its arguments.
  await writeFile(join(folder, "systemd-notify"), `#!/bin/sh\nprintf '%s\\n' "$*" >> ${folder}/received\n`);
  await chmod(join(folder, "systemd-notify"), 0o755);
});

const modulePath = join(import.meta.dirname, "../../../../src/platform/systemd/notify.ts");

/** Runs a program whose `notify` gets no descriptor until it calls `release()`. It ends once the record contains `last`. */
async function runExhausted(lines: string, last: string): Promise<readonly string[]> {
  const script = `
    import { closeSync, openSync, readFileSync } from "node:fs";
    import { createNotify } from ${JSON.stringify(modulePath)};
    const notify = createNotify({ NOTIFY_SOCKET: "/run/nobody" }, 7);
    const taken = [];
    try {
      for (;;) taken.push(openSync("/dev/null"));
    } catch {}
    const release = () => taken.splice(0).forEach((descriptor) => closeSync(descriptor));
    ${lines}
    for (;;) {
      await new Promise((wake) => setTimeout(wake, 20));
      try {
        if (readFileSync(${JSON.stringify(`${folder}/received`)}, "utf8").includes(${JSON.stringify(last)})) process.exit();
      } catch {}
    }`;
  const args = ["-c", 'ulimit -n 64; exec "$@"', "sh", process.execPath, "--input-type=module", "-e", script];
  const environment = { PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  await execute(["sh", ...args], { environment });
  return (await readFile(join(folder, "received"), "utf8")).trimEnd().split("\n");
}

test("createNotify: READY failed for lack of a descriptor (EMFILE) → repeated, before the later status", async () => {
  const received = await runExhausted(
    'notify.ready("up"); notify.status("one"); notify.status("two"); setTimeout(release, 10);',
    "two",
  );
  expect(received).toEqual(["--ready --pid=7 --status=up", "--pid=7 --status=two"]);
});

test("createNotify: watchdog notifications failed for lack of a descriptor → one is repeated", async () => {
  const received = await runExhausted(
    "for (let n = 0; n < 9; n += 1) notify.watchdog(); setTimeout(release, 10);",
    "WATCHDOG=1",
  );
  expect(received).toEqual(["WATCHDOG=1"]);
});
