import type { Problem } from "../platform/terminal.ts";
import type { StatusDocument } from "./status.ts";

/** What to do where the state is another machine's, and where the name is another one than is registered. */
export const OTHER_MACHINE_FIX =
  "to make this machine a robot of its own: robot-policy-agent rebind; after a new main board in the same robot: robot-policy-agent rebind --same-robot";
export const OTHER_NAME_FIX =
  "set robot.name (or the hostname) back, or make a new robot on purpose: robot-policy-agent rebind";

/**
 * What a person has to do about a status.
 *
 * @returns null where nobody has to do anything.
 */
export function statusProblem(status: StatusDocument): Problem | null {
  const { state, failure } = status;
  const url = status.service.url ?? "the service";
  const detail = failure?.detail ?? status.summary;
  switch (state) {
    case "starting":
    case "settling":
    case "registering":
    case "registered":
    case "rate-capped":
      return null;
    case "unreachable":
      return problem("service-unreachable", detail, url, unreachableFix(failure?.reason));
    case "unauthorized":
      return problem(
        "unauthorized",
        detail,
        url,
        `ask whoever runs the service for ${keyToAskFor(failure?.reason)}, then: sudo robot-policy-agent set-key`,
      );
    case "rejected":
      return problem(
        "rejected",
        detail,
        url,
        "correct what the findings name; nothing is sent again before something changes",
      );
    case "misconfigured":
      return problem(
        "misconfigured",
        `this does not look like a robot policy service: ${detail}`,
        url,
        "check service.url in the configuration",
      );
    case "conflict":
      return problem(
        "conflict",
        detail,
        url,
        "another robot may hold this name; choose robot.name anew, or remove the other one",
      );
    case "invalid":
      return problem(
        "invalid",
        status.registration === null
          ? "nothing is registered while an input is invalid"
          : "nothing is registered while an input is invalid; the last registration stands",
        null,
        "correct the findings above, then: robot-policy-agent check",
      );
    case "draft":
      return problem(
        "draft",
        "the manifest is a draft, and drafts are not registered",
        null,
        "set status: ready in the manifest",
      );
    case "other-machine":
      return problem(
        "other-machine",
        "the state was made on another machine, as in a copied image; nothing was sent",
        null,
        OTHER_MACHINE_FIX,
      );
    case "other-name": {
      const registered = status.robot.view?.name ?? "another name";
      const what = `this robot is registered as ${registered}, but its name is now ${status.robot.name}; nothing was sent`;
      return problem("other-name", what, null, OTHER_NAME_FIX);
    }
    case "stopped":
      return problem(
        "not-running",
        "the agent is not running; changes are not noticed",
        null,
        "start it: robot-policy-agent run, or systemctl start robot-policy-agent where it is a service",
      );
  }
}

/** A service that answers with 5xx is there; only its keeper can mend it. */
function unreachableFix(reason = ""): string {
  return reason.startsWith("http-5")
    ? "wait, the running agent tries again by itself; if it stays so, tell whoever runs the service"
    : "find out where it breaks with: robot-policy-agent doctor";
}

function keyToAskFor(reason: string | undefined): string {
  return reason === "http-403" ? "a key that may register robots (scope robots:setup)" : "a valid key";
}

function problem(code: string, what: string, where: string | null, fix: string): Problem {
  return { code, what, ...(where === null ? {} : { where }), fix };
}
