import { Secret } from "../../client/secret.ts";
import { type Clock, isoNow } from "../../platform/clock.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Machine } from "../../platform/machine.ts";
import type { ApprovedRobot, CredentialRecord, IdentityFiles } from "./identity-files.ts";

/** A credential as the service issues it. */
export interface Issued {
  readonly installation_id: string;
  readonly installation_token: Secret;
  readonly credential_expires_at: string;
  readonly renew_after_s: number;
}

interface Held {
  readonly record: CredentialRecord;
  readonly secret: Secret;
  readonly renewal: RenewalTime;
}

/**
 * The credential in use, and one that is not on the disk yet.
 *
 * The first use of a new value ends the previous one, so a new value waits until it is on the disk. A disk that stays full cannot keep the
 * robot from working: before the previous value ends by itself, or when it is refused, the new one is used from memory.
 */
export type HeldCredential = ReturnType<typeof createHeldCredential>;

const SAVE_RETRY_MS = 30_000;
/** The previous value is good for 10 minutes after a renewal. */
const LONGEST_UNUSED_MS = 5 * 60_000;

export function createHeldCredential(options: {
  readonly machine: Pick<Machine, "clock">;
  readonly files: Pick<IdentityFiles, "saveCredential">;
  readonly log: Log;
  readonly stored: CredentialRecord | null;
}) {
  const { files, log, stored } = options;
  const { clock } = options.machine;
  let inUse = stored === null ? null : hold(stored, clock);
  let unsaved: Held | null = null;
  /** Monotonic: from when on `unsaved` is used from memory, and the next attempt to write it. */
  let useAtMs = 0;
  let saveDueMs = Number.POSITIVE_INFINITY;
  let problem: string | null = null;

  /** Whether a newer value is still to be written to the disk. */
  function isWaiting(): boolean {
    return unsaved !== null && inUse?.record !== unsaved.record;
  }

  function useUnsaved(): boolean {
    if (!isWaiting()) return false;
    inUse = unsaved;
    return true;
  }

  /** Writes what is not on the disk, and uses it then. */
  async function save(): Promise<void> {
    if (unsaved === null) return;
    try {
      await files.saveCredential(unsaved.record);
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      if (problem === null) log.warn("credential-not-saved", { code });
      problem = `the credential cannot be written to the disk (${code})`;
      saveDueMs = clock.monotonicMs() + SAVE_RETRY_MS;
      if (clock.monotonicMs() >= useAtMs) useUnsaved();
      return;
    }
    if (problem !== null) log.info("credential-saved");
    useUnsaved();
    forgetUnsaved();
  }

  function forgetUnsaved(): void {
    unsaved = null;
    problem = null;
    saveDueMs = Number.POSITIVE_INFINITY;
  }

  return {
    /** In use; null for none. */
    get record() {
      return inUse?.record ?? null;
    },
    get secret() {
      return inUse?.secret ?? null;
    },
    /** Monotonic; never while a value waits for the disk. */
    get renewalDueMs() {
      return inUse === null || isWaiting() ? Number.POSITIVE_INFINITY : inUse.renewal.dueMs;
    },
    isRenewalDue: () => inUse !== null && !isWaiting() && isRenewalDue(inUse.renewal, clock),
    /** Why the newest value is not on the disk; null when it is. */
    get problem() {
      return problem;
    },
    /** Monotonic time of the next attempt to write it; infinite when it is on the disk. */
    get saveDueMs() {
      return saveDueMs;
    },
    async take(publicKey: string, issued: Issued, robot: ApprovedRobot) {
      const record: CredentialRecord = {
        ...robot,
        public_key: publicKey,
        installation_id: issued.installation_id,
        installation_token: issued.installation_token.reveal(),
        credential_expires_at: issued.credential_expires_at,
        renew_after_s: issued.renew_after_s,
        issued_at: isoNow(clock),
      };
      unsaved = hold(record, clock);
      useAtMs = clock.monotonicMs() + LONGEST_UNUSED_MS;
      await save();
    },
    /** The service has another name for the robot. */
    async rename(name: string) {
      if (inUse === null) return;
      const newer = isWaiting() ? unsaved : null;
      inUse = renamed(inUse, name);
      unsaved = newer === null ? inUse : renamed(newer, name);
      await save();
    },
    save,
    /** The value in use is not accepted: uses the one that waits for the disk. False when there is none. */
    useUnsaved,
    /** A heartbeat told how long the value is to be used. */
    correct(renewAfterS: number) {
      if (inUse === null) return;
      const dueMs = clock.monotonicMs() + renewAfterS * 1000;
      inUse = { ...inUse, renewal: { ...inUse.renewal, dueMs } };
    },
    forget() {
      inUse = null;
      forgetUnsaved();
    },
  };
}

function hold(record: CredentialRecord, clock: Clock): Held {
  return { record, secret: new Secret(record.installation_token), renewal: renewalTime(record, clock) };
}

function renamed(held: Held, name: string): Held {
  return { ...held, record: { ...held.record, robot_name: name } };
}

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

/** The service renews at 50 to 70 % of a lifetime. With a clock that is right, the lifetime is therefore within these multiples of it. */
const PLAUSIBLE = { least: 1.2, most: 2.4 } as const;

/**
 * When to renew a credential: of this process, or of an earlier one. The monotonic clock began again since then, so the wall clock tells how
 * much time is left. A wall clock that cannot be right counts as if no time had passed; the first heartbeat corrects that.
 */
export function renewalTime(
  issued: Pick<CredentialRecord, "issued_at" | "renew_after_s" | "credential_expires_at">,
  clock: Clock,
): RenewalTime {
  const [nowMs, monotonicMs] = [clock.wallMs(), clock.monotonicMs()];
  const issuedAtMs = Date.parse(issued.issued_at);
  const renewAfterMs = issued.renew_after_s * 1000;
  // The end is by the service's clock.
  const lifetimeMs = Date.parse(issued.credential_expires_at) - issuedAtMs;
  const isPlausible = lifetimeMs >= PLAUSIBLE.least * renewAfterMs && lifetimeMs <= PLAUSIBLE.most * renewAfterMs;
  if (!isPlausible || nowMs < issuedAtMs) return { dueMs: monotonicMs + renewAfterMs, wallDueMs: null };
  const wallDueMs = issuedAtMs + renewAfterMs;
  return { dueMs: monotonicMs + Math.max(0, wallDueMs - nowMs), wallDueMs };
}

export function isRenewalDue({ dueMs, wallDueMs }: RenewalTime, clock: Clock): boolean {
  return clock.monotonicMs() >= dueMs || (wallDueMs !== null && clock.wallMs() >= wallDueMs);
}
