import type { HttpRequest } from "../../../src/client/transport/transport.ts";
import type { Answer } from "../machine/network.ts";

/** All faults of these worlds, by the name under which reports count them. Each must occur in the gate's seeds. */
export const FAULTS = [
  // Network
  "requests of a robot are lost",
  "answers to a robot are lost",
  "connections of a robot are half-open",
  "another server answers a robot",
  "a replica cannot be reached",
  "connections to a replica are half-open",
  "the network is partitioned",
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
  "a robot's disk lies about syncs",
  "a file of a robot is broken",
  "file events of a robot are lost or late",
  "all replicas lose power",
  "a write of the service is torn",
  "the service's disk is full",
  "the service's disk fails",
  "the service's disk lies about syncs",
  "the service loses data that its disk claimed to have synced",
  "the service is restored from a backup",
  // Identities
  "an operator denies an enrolment",
  "an operator removes a robot",
  "the answer to a renewal is lost",
  "a credential expires",
  // Clocks
  "a robot's clock is set",
  "the clocks of the service are set",
] as const;

export type Fault = (typeof FAULTS)[number];

/** Maps the disturbances of actors.ts to faults. */
const ROBOT_FAULTS: readonly (readonly [message: RegExp, fault: Fault])[] = [
  [/^weather unreachable/, "requests of a robot are lost"],
  [/^weather answer-lost/, "answers to a robot are lost"],
  [/^weather hangs/, "connections of a robot are half-open"],
  [/^weather (answers|foreign-robot)/, "another server answers a robot"],
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

/** The fault of a disturbance message of a robot's world; null if it is no fault. */
export function robotFault(message: string): Fault | null {
  return ROBOT_FAULTS.find(([pattern]) => pattern.test(message))?.[1] ?? null;
}

/** The fault of a request about a robot's identity; null without one. */
export function identityFault({ url }: HttpRequest, answer: Answer): Fault | null {
  if (!url.endsWith("/credential/renew")) return null;
  if (answer.kind === "none") return "the answer to a renewal is lost";
  return new TextDecoder().decode(answer.answer.body).includes('"recovered":true') ? "a credential expires" : null;
}
