/** What operators see of the computers that speak for robots. */
import type { InstallationView } from "../api/installations.ts";
import { digest, exact, type Fact, future, type OwnNeed, past } from "./view.ts";

/** What a technician runs on a robot. */
export const ENROLL_COMMAND = "sudo robot-policy-agent enroll";

export function computerFacts(installation: InstallationView): readonly Fact[] {
  const { state, readiness, recoveries_remaining: left } = installation;
  const isRevoked = state === "revoked";
  return [
    ["state", { kind: "state", state }],
    ["last seen", installation.last_seen_at === null ? "never" : past(installation.last_seen_at)],
    ["address", exact(installation.last_address)],
    ["reports", readiness === null ? null : { kind: "state", state: readiness, reason: installation.reason }],
    ["agent", installation.runtime_version],
    ["digest", digest(installation.manifest_digest)],
    ["enrolled", past(installation.enrolled_at)],
    ["approved with", exact(installation.approved_by)],
    ["key", exact(installation.key_fingerprint)],
    ["generation", installation.generation],
    ["credential ends", isRevoked ? null : future(installation.credential_expires_at)],
    // How often it may come back by itself after its credential expired.
    ["recoveries", isRevoked ? null : `${left} left`],
    ["recovers until", isRevoked || left === 0 ? null : future(installation.recovery_until)],
  ];
}

/** What the computer needs before it can work. */
export function computerNeed(installation: InstallationView, nowMs: number): OwnNeed | null {
  const { state, recoveries_remaining: left, recovery_until: until, credential_expires_at: endsAt } = installation;
  if (state === "frozen")
    return {
      isBlocked: true,
      reason: "Frozen: two computers used this identity",
      detail: `Neither may do anything. ${FALSE_ALARMS}`,
      action: "Enroll the right computer again, or after such a false alarm, thaw it",
      command: (robot) => `robot-policy robots thaw ${robot}`,
    };
  if (state === "revoked")
    return { reason: "This computer was replaced", action: `Run ${ENROLL_COMMAND} on the robot` };
  const isLapsed = Date.parse(endsAt) <= nowMs && (left === 0 || Date.parse(until) <= nowMs);
  if (!isLapsed) return null;
  return {
    isBlocked: true,
    reason: "Its credential expired, and it may not renew it any more",
    detail: "It was off for too long, or too often.",
    action: "Allow it to recover, and it comes back by itself",
    command: (robot) => `robot-policy robots allow-recovery ${robot} --times 5`,
  };
}

const FALSE_ALARMS = "Two agents on one computer, and a disk that was set back and then forward again, look the same.";

/** What thawing does, in sentences. */
export const THAWING = [
  FALSE_ALARMS,
  "Its computer works again within minutes. If two computers really have its key, it freezes again: enroll the right one again instead.",
] as const;
