import type { Problem } from "../../platform/terminal.ts";
import type { ControlAnswer } from "../control/client.ts";

/** Code of the problem that nothing answers where the control socket belongs. */
export const NO_SOCKET = "already-running";

/** Why the daemon could not be asked, or what it answered that it should not have. */
export function daemonProblem(answer: ControlAnswer, path: string): Problem {
  switch (answer.kind) {
    case "denied":
      return {
        code: "daemon-denied",
        what: "a daemon runs, but this user may not speak to it",
        where: path,
        fix: "run it as root, or for good: sudo usermod -aG robot-policy-agent USER, and log in again",
      };
    case "not-running":
      return {
        code: NO_SOCKET,
        what: "another agent works on this state directory and has no control socket here",
        where: path,
        fix: "give its --runtime-dir, or stop it first",
      };
    case "failed":
      return {
        code: "daemon-failed",
        what: answer.detail,
        where: path,
        fix: "look at its log: journalctl -u robot-policy-agent",
      };
    case "answer":
      if (answer.status === 429) {
        return {
          code: "asked-too-often",
          what: "the agent is asked so often that it waits before it sends more",
          where: path,
          fix: "try again in some seconds",
        };
      }
      return {
        code: "daemon-failed",
        what: `unexpected answer ${answer.status} of the daemon`,
        where: path,
        fix: "restart it, so that it is of this version",
      };
  }
}
