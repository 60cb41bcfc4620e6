import type { Tables } from "../kernel/store/tables.ts";
import type { IdentitySettings } from "./settings.ts";

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
