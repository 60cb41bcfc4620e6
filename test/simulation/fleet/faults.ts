import type { HttpRequest } from "../../../src/client/transport/transport.ts";
import type { Answer } from "../machine/network.ts";

/** Everything that goes wrong in these worlds, by the name that a report counts it by. Each must happen in the gate's seeds. */
export const FAULTS = [
  // Network
  "requests of a robot are lost",
  "answers to a robot are lost",
  "connections of a robot are half-open",
  "somebody else answers a robot",
  "a replica cannot be reached",
  "connections to a replica are half-open",
  "the network falls apart",
  "requests and answers overtake each other",
  // Processes
  "an agent is killed",
  "an agent is stopped",
  "a replica is killed",
  "a replica is stopped and started",
  "a replica freezes",
  "a replica is slow",
  "an inference server fails",
  // Power and disks
  "a robot loses power",
  "a robot's disk is full",
  "a robot's disk is read-only",
  "a robot's disk fails",
  "a robot's disk is slow",
  "a robot's disk lies about what it synced",
  "a file of a robot is broken",
  "file events of a robot are lost or late",
  "all replicas lose power",
  "a write of the service is torn",
  "the service's disk is full",
  "the service's disk fails",
  "the service's disk lies about what it synced",
  "the service loses what its disk said it had",
  "the service is older than it was",
  // Identities
  "an operator denies an enrolment",
  "an operator removes a robot",
  "the answer to a renewal is lost",
  "a credential lapses",
  // Clocks
  "a robot's clock is set",
  "the clocks of the service are set",
] as const;

export type Fault = (typeof FAULTS)[number];

/** What actors.ts does to a robot. */
const ROBOT_FAULTS: readonly (readonly [said: RegExp, fault: Fault])[] = [
  [/^weather unreachable/, "requests of a robot are lost"],
  [/^weather answer-lost/, "answers to a robot are lost"],
  [/^weather hangs/, "connections of a robot are half-open"],
  [/^weather (answers|foreign-robot)/, "somebody else answers a robot"],
  [/^kill -9/, "an agent is killed"],
  [/^SIGTERM/, "an agent is stopped"],
  [/^power cut/, "a robot loses power"],
  [/^full disk/, "a robot's disk is full"],
  [/^read-only disk/, "a robot's disk is read-only"],
  [/^I\/O errors/, "a robot's disk fails"],
  [/^slow disk/, "a robot's disk is slow"],
  [/ (missing|unreadable|directory|fifo|loop) for /, "a file of a robot is broken"],
  [/^(lost events|no watches left|late events)/, "file events of a robot are lost or late"],
  [/^the clock is set/, "a robot's clock is set"],
];

/** The fault that a robot's world tells of; null where it tells of something else. */
export function robotFault(said: string): Fault | null {
  return ROBOT_FAULTS.find(([pattern]) => pattern.test(said))?.[1] ?? null;
}

/** What became of a request about a robot's identity; null where nothing went wrong. */
export function identityFault({ url }: HttpRequest, answer: Answer): Fault | null {
  if (!url.endsWith("/credential/renew")) return null;
  if (answer.kind === "none") return "the answer to a renewal is lost";
  return new TextDecoder().decode(answer.answer.body).includes('"recovered":true') ? "a credential lapses" : null;
}
