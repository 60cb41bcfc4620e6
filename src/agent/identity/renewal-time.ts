/** When to renew a credential. */
import type { Clock } from "../../platform/clock.ts";
import type { CredentialRecord } from "./records.ts";

/** The renewal time of one credential, by both clocks. */
export interface RenewalTime {
  /** Monotonic. */
  readonly dueMs: number;
  /**
   * The same moment by the wall clock, for machines that are suspended: the monotonic clock stands still meanwhile. Null when the wall
   * clock cannot be right.
   */
  readonly wallDueMs: number | null;
}

/** What an issued credential says of its times; its end is by the service's clock. */
type IssuedTimes = Pick<CredentialRecord, "renew_after_s" | "credential_expires_at">;

/** The service renews at 50 to 70 % of a lifetime. With a clock that is right, the lifetime is therefore within these multiples of it. */
const PLAUSIBLE = { least: 1.2, most: 2.4 } as const;

export function renewalTime(issued: IssuedTimes, clock: Clock): RenewalTime {
  return { dueMs: clock.monotonicMs() + issued.renew_after_s * 1000, wallDueMs: wallDue(issued, clock.wallMs()) };
}

/** After a heartbeat, whose answer counts down to the moment that was fixed at the issue. */
export function corrected({ wallDueMs }: RenewalTime, renewAfterS: number, clock: Clock): RenewalTime {
  return { dueMs: clock.monotonicMs() + renewAfterS * 1000, wallDueMs };
}

/**
 * The renewal time of a credential that an earlier process got. The monotonic clock began again, so the wall clock tells how much time is
 * left. A wall clock that cannot be right counts as if no time had passed; the first heartbeat corrects that.
 *
 * @param issuedAtMs by this machine's wall clock.
 */
export function storedRenewalTime(issued: IssuedTimes, issuedAtMs: number, clock: Clock): RenewalTime {
  const wallDueMs = wallDue(issued, issuedAtMs);
  const nowMs = clock.wallMs();
  if (wallDueMs === null || nowMs < issuedAtMs) {
    return { dueMs: clock.monotonicMs() + issued.renew_after_s * 1000, wallDueMs: null };
  }
  return { dueMs: clock.monotonicMs() + Math.max(0, wallDueMs - nowMs), wallDueMs };
}

export function isRenewalDue({ dueMs, wallDueMs }: RenewalTime, clock: Clock): boolean {
  return clock.monotonicMs() >= dueMs || (wallDueMs !== null && clock.wallMs() >= wallDueMs);
}

function wallDue(
  { renew_after_s: renewAfterS, credential_expires_at: expiresAt }: IssuedTimes,
  issuedAtMs: number,
): number | null {
  const lifetimeMs = Date.parse(expiresAt) - issuedAtMs;
  const renewAfterMs = renewAfterS * 1000;
  const isPlausible = lifetimeMs >= PLAUSIBLE.least * renewAfterMs && lifetimeMs <= PLAUSIBLE.most * renewAfterMs;
  return isPlausible ? issuedAtMs + renewAfterMs : null;
}
