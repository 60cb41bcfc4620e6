import { expect, test } from "vitest";

import { showRemoval } from "../../../src/installer/show-removal.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";

test("showRemoval: granted access stays → says that only an installed agent revokes it", () => {
  let output = "";
  const write = (text: string) => void (output += text);
  const terminal = createTerminal({ stdout: { write }, stderr: { write }, environment: {} });
  const left = { trees: ["/etc/robot-policy-agent"], hasUser: true, hasGrants: true };
  showRemoval(
    { removals: [{ kind: "link", path: "/usr/local/bin/robot-policy-agent" }], kept: [], linked: [], remembered: [] },
    left,
    {
      terminal,
      isDry: false,
      isJson: false,
      program: "robot-policy-agent",
      image: null,
    },
  );
  expect(output).toMatchInlineSnapshot(`
    "ok robot-policy-agent is removed
    The file access that was granted stays. An installed agent revokes it: sudo robot-policy-agent grant --revoke
    Left: /etc/robot-policy-agent, the user robot-policy-agent. To remove that too, as root:
      rm -r /etc/robot-policy-agent; userdel robot-policy-agent
    "
  `);
});
