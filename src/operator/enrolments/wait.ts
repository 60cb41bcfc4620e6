import { beyondSpec } from "../../api/api.ts";
import type { InstallationView } from "../../api/installations.ts";
import type { CallResult } from "../../client/call-result.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { isNothingNamed } from "../failure.ts";
import type { Service } from "../service.ts";
import { type Look, waitUntilEnded } from "../wait.ts";

/** An approved computer, from one look. */
interface Arrival {
  /** Null until it has its credential. */
  readonly installation: InstallationView | null;
  /** When the robot registered last; null before. */
  readonly registeredAt: string | null;
}

const NOTHING: Arrival = { installation: null, registeredAt: null };

/**
 * Waits until an approved computer has its credential and its robot is registered with it.
 *
 * @param fingerprint of the computer's key; null if the service does not show it, so that any computer of the robot counts.
 */
export async function waitForRobot(service: Service, name: string, fingerprint: string | null): Promise<ExitCode> {
  // The name may change while the command waits, so the robot is asked for by its id once that is known.
  let robot = name;
  const { exitCode } = await waitUntilEnded(service, {
    first: NOTHING,
    async fetch() {
      const found = await fetchArrival(service, robot, fingerprint);
      if (found.kind === "ok") robot = found.value.installation?.robot_id ?? robot;
      return found;
    },
    look: (arrival) => lookAt(arrival, name),
    later: ({ installation }) => laterFor(installation === null, shellWord(robot)),
  });
  return exitCode;
}

function laterFor(hasNoCredential: boolean, robot: string): string {
  const question = hasNoCredential ? "is the computer on, and does it still show the code?" : "see what it lacks:";
  return `${question} robot-policy robots show ${robot}`;
}

async function fetchArrival(service: Service, robot: string, fingerprint: string | null): Promise<CallResult<Arrival>> {
  const parameters = { robot };
  const found = await service.call(beyondSpec.getInstallation, { parameters });
  if (found.kind !== "ok") return isNothingNamed(found) ? { kind: "ok", status: 200, value: NOTHING } : found;
  const installation = found.value.value;
  // The computer that it replaces keeps working until the new one polls.
  const isOther = fingerprint !== null && installation.key_fingerprint !== fingerprint;
  if (isOther || installation.state === "revoked") return { ...found, value: NOTHING };
  const registration = await service.call(beyondSpec.getRegistration, { parameters });
  if (registration.kind !== "ok" && !isNothingNamed(registration)) return registration;
  const registeredAt = registration.kind === "ok" ? registration.value.value.registered_at : null;
  return { ...found, value: { installation, registeredAt } };
}

function lookAt({ installation, registeredAt }: Arrival, name: string): Look {
  if (installation === null) return waiting(`${name} is approved; its computer fetches its credential`);
  if (installation.state === "frozen") {
    const what = `${name} is frozen: its key is in use on two computers`;
    const fix = `enroll the right computer again, or after a false alarm: robot-policy robots thaw ${shellWord(name)}`;
    const problem = { code: "frozen", what, fix };
    return { lines: [what], summary: what, ended: { exitCode: EXIT.rejected, problem } };
  }
  // The enrolment itself counts as a registration of that moment; an agent is ready once it has registered.
  const isRegistered =
    installation.readiness === "ready" ||
    (registeredAt !== null && Date.parse(registeredAt) > Date.parse(installation.enrolled_at));
  if (isRegistered) return { lines: [], summary: "", ended: { exitCode: EXIT.ok, problem: null } };
  const reason = installation.reason === null ? "" : `: ${installation.reason}`;
  return waiting(`${name} has its credential, and is not registered with it yet${reason}`);
}

function waiting(text: string): Look {
  return { lines: [text], summary: text, ended: null };
}
