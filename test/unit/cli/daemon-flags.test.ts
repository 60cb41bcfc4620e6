import { expect, test } from "vitest";

import { daemonFlags } from "../../../src/agent/daemon-flags.ts";

test.each([
  [["run"], {}],
  [["look"], {}],
  [["run", "--config", "a.yaml"], { config: "a.yaml" }],
  [
    ["run", "--config=a.yaml", "--state-dir", "s", "--runtime-dir=r"],
    { config: "a.yaml", stateDir: "s", runtimeDir: "r" },
  ],
  [["run", "--config=a=b.yaml"], { config: "a=b.yaml" }],
])("daemonFlags: %j → flags of a daemon", (argv, flags) => {
  expect(daemonFlags(argv)).toEqual(flags);
});

test.each([
  [[]],
  [["check"]],
  [["--config", "a.yaml", "run"]],
  [["run", "--help"]],
  [["run", "--json"]],
  [["run", "--config"]],
  [["run", "--config", "--state-dir"]],
  [["run", "--config", "a", "--config", "b"]],
  [["run", "more"]],
  [["run", "--config="]],
  [["run", "--"]],
])("daemonFlags: %j → left to commander", (argv) => {
  expect(daemonFlags(argv)).toBeNull();
});
