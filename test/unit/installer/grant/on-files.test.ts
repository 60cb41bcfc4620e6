import { expect, test } from "vitest";

import { parseUnit } from "../../../../src/access/unit.ts";
import { createTerminal } from "../../../../src/cli/terminal.ts";
import { grantOnFiles } from "../../../../src/installer/grant/on-files.ts";
import { EMPTY_RECORD } from "../../../../src/installer/grant/record.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";

test("grantOnFiles: nothing to grant → no reload of the running agent", async () => {
  const started: string[] = [];
  let output = "";
  const sink = { write: (text: string) => void (output += text) };
  const exitCode = await grantOnFiles({
    options: {},
    terminal: createTerminal({ stdout: sink, stderr: sink, environment: {} }),
    machine: {
      files: systemFiles,
      async runProgram(argv) {
        started.push(argv.join(" "));
        return { kind: "missing" };
      },
    },
    directory: "/nowhere",
    unit: { kind: "unit", unit: parseUnit("ActiveState=active\n") },
    record: EMPTY_RECORD,
    account: { name: "robot", userId: 41_001, groupId: 41_001, groupIds: [41_001] },
    paths: [],
    keyFile: null,
  });
  expect([exitCode, output, started]).toEqual([0, "robot can read all 0 files: nothing to grant.\n", []]);
});
