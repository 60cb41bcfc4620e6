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
