import { describe, expect, test } from "vitest";

import { agentProgram } from "../../../src/agent/commands/table.ts";
import { operatorProgram } from "../../../src/operator/program.ts";
import { repeatFlags } from "../../../src/cli/command-table.ts";

const NEAR = { url: "https://policy.example.com", keyFile: "/home/ana/lab key", json: true };

describe("repeatFlags: operator", () => {
  test.each<readonly [string, object, string, string]>([
    ["none was given", {}, "robot-policy robots list shows all", "robot-policy robots list shows all"],
    [
      "a context",
      { context: "lab" },
      "robot-policy fleets list shows all",
      "robot-policy --context lab fleets list shows all",
    ],
    [
      "values are quoted; --json is not repeated",
      NEAR,
      "robot-policy keys list shows them",
      "robot-policy --url https://policy.example.com --key-file '/home/ana/lab key' keys list shows them",
    ],
    [
      "not what the hint names itself",
      NEAR,
      "robot-policy whoami --key-file FILE",
      "robot-policy --url https://policy.example.com whoami --key-file FILE",
    ],
    ["a flag without a value", { allowInsecure: true }, "robot-policy audit", "robot-policy --allow-insecure audit"],
    [
      "not where a service is chosen",
      { context: "nope" },
      "robot-policy contexts list shows all contexts",
      "robot-policy contexts list shows all contexts",
    ],
    ["not for another program", { context: "lab" }, "sudo robot-policy-agent enroll", "sudo robot-policy-agent enroll"],
  ])("%s", (_name, given, hint, expected) => {
    expect(repeatFlags(operatorProgram, given)(hint)).toBe(expected);
  });
});

describe("repeatFlags: agent", () => {
  test.each([
    ["list them: robot-policy-agent check", "list them: robot-policy-agent --config ./c.yaml check"],
    ["at once: sudo robot-policy-agent --setup", "at once: sudo robot-policy-agent --config ./c.yaml --setup"],
    ["systemctl restart robot-policy-agent", "systemctl restart robot-policy-agent"],
    ["sudo usermod -aG robot-policy-agent USER, and", "sudo usermod -aG robot-policy-agent USER, and"],
    ["robot-policy-agent install, or its package", "robot-policy-agent install, or its package"],
  ])("%s", (hint, expected) => {
    expect(repeatFlags(agentProgram, { config: "./c.yaml" })(hint)).toBe(expected);
  });
});
