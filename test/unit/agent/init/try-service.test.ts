import { join } from "node:path";

import { expect, test } from "vitest";

import { offerRegions } from "../../../../src/agent/init/try-service.ts";
import { createTerminal } from "../../../../src/cli/terminal.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { systemMachine } from "../../../../src/platform/machine.ts";
import { temporaryFolder } from "../../look/machine.ts";

test("offerRegions: the disk is full → says what to write, and init goes on", async () => {
  const configuration = join(await temporaryFolder(), "config.yaml");
  let seen = "";
  const output = { write: (text: string) => void (seen += text) };
  const refuse = () => Promise.reject(Object.assign(new Error("disk full"), { code: "ENOSPC" }));
  const machine = { ...systemMachine({}, process.pid), files: { ...systemFiles, createExclusive: refuse } };
  const context = {
    terminal: createTerminal({ stdout: output, stderr: output, environment: { NO_COLOR: "1" } }),
    machine,
    environment: {},
    signal: new AbortController().signal,
    onHangup() {},
    stderr: process.stderr,
    version: "0.0.0",
    program: "robot-policy-agent",
    processId: process.pid,
    userId: 0,
    readSecret: async () => null,
    openQuestions: () => ({ ask: async () => "2", close() {} }),
  };
  const paths = { configuration, manifest: "/etc/robot-manifest.yaml", key: "/etc/api-key" };
  const answers = {
    url: "https://policy.example",
    caFile: null,
    region: "mars-1",
    name: null,
    type: null,
    unit: null,
    files: [],
  };
  await offerRegions(["eu-central-1", "us-east-1"], answers, {
    paths,
    image: null,
    isTested: true,
    options: {},
    context,
  });
  expect(seen.slice(seen.indexOf("error:"))).toBe(
    `error: cannot write there (ENOSPC) (${configuration}) [not-writable]\n  → write robot.region: us-east-1 into it\n`,
  );
});
