import type { Tables } from "../kernel/store/tables.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Lifetimes and limits of enrolments and of the credentials of robots. */
export interface IdentitySettings {
  /** How long a code waits for its approval. */
  readonly codeTtlMs: number;
  /** Not below 2 h outside of tests: programs beside the agent renew when less than one hour is left. */
  readonly credentialTtlMs: number;
  /** How long the value that a renewal was made with still works, unless the new one is used before. */
  readonly graceMs: number;
  /** How long after its expiry a credential can still be renewed. */
  readonly recoveryWindowMs: number;
  /** How many times in a row. */
  readonly recoveries: number;
  /** A robot is online this long after its last heartbeat. */
  readonly onlineWindowMs: number;
  /** What happens to an installation whose key is in use on two computers. */
  readonly copiedKey: "freeze" | "warn";
}

export const IDENTITY_SETTINGS: IdentitySettings = {
  codeTtlMs: 10 * MINUTE_MS,
  credentialTtlMs: DAY_MS,
  graceMs: 10 * MINUTE_MS,
  recoveryWindowMs: 90 * DAY_MS,
  recoveries: 5,
  onlineWindowMs: 90_000,
  copiedKey: "freeze",
};

/** The credential that a renewal presents as its bearer, as far as it is the installation's; null for any other value or none. */
export type Presented = Pick<Tables["robot_credentials"], "standing"> & {
  /** Whether a value that displaced it was used. */
  readonly isCopied: boolean;
};

/**
 * What a renewal does, by the value it presents.
 *
 * `advance`: the next generation; the presented value becomes the previous one. `repeat`: one more value of the same generation, because
 * the answer with the newest was lost. `displace`: the next generation, out of order: the newest values become displaced, because another
 * computer may hold them. `freeze`: another computer does.
 */
export type Rotation = "advance" | "repeat" | "displace" | "freeze";

export function judgeRotation(presented: Presented | null, isNewestUsed: boolean): Rotation {
  switch (presented?.standing) {
    case "newest":
      return "advance";
    case "previous":
      return isNewestUsed ? "displace" : "repeat";
    case "displaced":
      return presented.isCopied ? "freeze" : "displace";
    case "superseded":
    case undefined:
      return "displace";
  }
}

/** Values of one generation that work at a time. */
export const VALUES_OF_GENERATION_MAXIMUM = 4;

/** Accepted renewals of an installation within an hour; clients renew at every start. */
export const RENEWALS_PER_HOUR = 60;

type Recoverable = Pick<Tables["installations"], "credential_expires_at" | "recoveries_remaining" | "recovery_until">;

/** Whether the installation may renew at `now` (ISO 8601), and how many recoveries it has then. */
export type Recovery =
  | { readonly state: "allowed"; readonly isRecovered: boolean; readonly remaining: number }
  | { readonly state: "window-over" | "budget-spent" };

/** A renewal in time restores the recoveries, one after the expiry takes one. An operator may have given more than the standard. */
export function judgeRecovery(
  { credential_expires_at: expiresAt, recoveries_remaining: remaining, recovery_until: until }: Recoverable,
  now: string,
  { recoveries }: IdentitySettings,
): Recovery {
  if (now < expiresAt) return { state: "allowed", isRecovered: false, remaining: Math.max(remaining, recoveries) };
  if (now > until) return { state: "window-over" };
  return remaining > 0 ? { state: "allowed", isRecovered: true, remaining: remaining - 1 } : { state: "budget-spent" };
}
