import type { Problem } from "../../platform/terminal.ts";
import type { ControlAnswer } from "./client.ts";

/** Problem code: no daemon answers on the control socket. */
export const NO_SOCKET = "already-running";

/** The problem for a daemon that cannot be asked or gives an unexpected answer. */
export function daemonProblem(answer: ControlAnswer, path: string): Problem {
  switch (answer.kind) {
    case "denied":
      return {
        code: "daemon-denied",
        what: "a daemon runs, but this user may not use its control socket",
        where: path,
        fix: "run it as root, or permanently: sudo usermod -aG robot-policy-agent USER, and log in again",
      };
    case "not-running":
      return {
        code: NO_SOCKET,
        what: "another agent uses this state directory, with its control socket elsewhere",
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
          what: "the agent limits how often it can be asked to register",
          where: path,
          fix: "try again in some seconds",
        };
      }
      return {
        code: "daemon-failed",
        what: `unexpected answer ${answer.status} of the daemon`,
        where: path,
        fix: "restart it, so that it runs the same version",
      };
  }
}
