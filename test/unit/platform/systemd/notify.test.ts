import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, expect, test } from "vitest";

import { testFolder } from "../../../support/folder.ts";
import { execute } from "../../../support/programs/execute.ts";

let folder = "";
beforeEach(async () => {
  folder = testFolder("notify");
  // In the place of systemd-notify(1): notes what it is told.
  await writeFile(join(folder, "systemd-notify"), `#!/bin/sh\nprintf '%s\\n' "$*" >> ${folder}/told\n`);
  await chmod(join(folder, "systemd-notify"), 0o755);
});

const modulePath = join(import.meta.dirname, "../../../../src/platform/systemd/notify.ts");

/** Runs a program whose `notify` cannot have a descriptor before it calls `release()`; it ends once `told` holds `last`. */
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
        if (readFileSync(${JSON.stringify(`${folder}/told`)}, "utf8").includes(${JSON.stringify(last)})) process.exit();
      } catch {}
    }`;
  const words = ["-c", 'ulimit -n 64; exec "$@"', "sh", process.execPath, "--input-type=module", "-e", script];
  const environment = { PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  await execute(["sh", ...words], { environment });
  return (await readFile(join(folder, "told"), "utf8")).trimEnd().split("\n");
}

test("createNotify: READY that found no descriptor (EMFILE) is told again, before the status that came after it", async () => {
  const told = await runExhausted(
    'notify.ready("up"); notify.status("one"); notify.status("two"); setTimeout(release, 10);',
    "two",
  );
  expect(told).toEqual(["--ready --pid=7 --status=up", "--pid=7 --status=two"]);
});

test("createNotify: a sign of life that found no descriptor is given again, once", async () => {
  const told = await runExhausted(
    "for (let n = 0; n < 9; n += 1) notify.watchdog(); setTimeout(release, 10);",
    "WATCHDOG=1",
  );
  expect(told).toEqual(["WATCHDOG=1"]);
});
