import { expect, test } from "vitest";

import { ownCommand } from "../../../../src/platform/text/shell-word.ts";

test.each([
  ["/usr/bin/robot-policy-agent", "robot-policy-agent"],
  ["/home/ana/my clone/dist/robot-policy-agent.cjs", "/opt/node '/home/ana/my clone/dist/robot-policy-agent.cjs'"],
])("ownCommand: %s → %s", (path, command) => {
  expect(ownCommand(path, "/opt/node")).toBe(command);
});
