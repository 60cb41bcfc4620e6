import { Secret } from "../../client/secret.ts";
import { isoNow } from "../../platform/clock.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import type { Machine } from "../../platform/machine.ts";
import type { IdentityFiles } from "./identity-files.ts";
import type { ApprovedRobot, CredentialRecord } from "./records.ts";
import { corrected, isRenewalDue, type RenewalTime, renewalTime, storedRenewalTime } from "./renewal-time.ts";

/** A credential as the service issues it. */
export interface Issued {
  readonly installation_id: string;
  readonly installation_token: Secret;
  readonly credential_expires_at: string;
  readonly renew_after_s: number;
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
  readonly machine: Machine;
  readonly files: IdentityFiles;
  readonly log: Log;
  readonly stored: CredentialRecord | null;
}) {
  const { machine, files, log, stored } = options;
  const { clock } = machine;
  let inUse: { readonly record: CredentialRecord; readonly secret: Secret } | null =
    stored === null ? null : { record: stored, secret: new Secret(stored.installation_token) };
  let renewal: RenewalTime | null =
    stored === null ? null : storedRenewalTime(timesOf(stored), Date.parse(stored.issued_at), clock);
  let unsaved: CredentialRecord | null = null;
  let unsavedRenewal: RenewalTime | null = null;
  let useAtMs = 0;
  let saveDueMs = Number.POSITIVE_INFINITY;
  let problem: string | null = null;

  function use(record: CredentialRecord): void {
    if (inUse?.record === record) return;
    inUse = { record, secret: new Secret(record.installation_token) };
    renewal = unsavedRenewal;
  }

  /** Writes what could not be written before. */
  async function save(): Promise<void> {
    const record = unsaved;
    if (record === null) return;
    try {
      await files.saveCredential(record);
      if (problem !== null) log.info("credential-saved");
      problem = null;
      saveDueMs = Number.POSITIVE_INFINITY;
      use(record);
      unsaved = null;
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      if (problem === null) log.warn("credential-not-saved", { code });
      problem = `the credential cannot be written to the disk (${code})`;
      saveDueMs = clock.monotonicMs() + SAVE_RETRY_MS;
      if (clock.monotonicMs() >= useAtMs) use(record);
    }
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
      return renewal === null || isWaiting() ? Number.POSITIVE_INFINITY : renewal.dueMs;
    },
    isRenewalDue: () => renewal !== null && isRenewalDue(renewal, clock) && !isWaiting(),
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
        public_key: publicKey,
        robot_id: robot.robot_id,
        robot_name: robot.robot_name,
        corrected_region: robot.corrected_region ?? null,
        site: robot.site ?? null,
        labels: robot.labels ?? null,
        configured_name: robot.configured_name ?? null,
        installation_id: issued.installation_id,
        installation_token: issued.installation_token.reveal(),
        credential_expires_at: issued.credential_expires_at,
        renew_after_s: issued.renew_after_s,
        issued_at: isoNow(clock),
      };
      unsaved = record;
      unsavedRenewal = renewalTime(timesOf(record), clock);
      useAtMs = clock.monotonicMs() + LONGEST_UNUSED_MS;
      await save();
    },
    /** The service has another name for the robot. */
    async rename(name: string) {
      if (inUse === null) return;
      const isSaved = unsaved === null || inUse.record === unsaved;
      inUse = { ...inUse, record: { ...inUse.record, robot_name: name } };
      if (isSaved) unsavedRenewal = renewal;
      unsaved = isSaved || unsaved === null ? inUse.record : { ...unsaved, robot_name: name };
      await save();
    },
    save,
    /** The value in use is not accepted: uses the one that waits for the disk. False when there is none. */
    useUnsaved(): boolean {
      if (unsaved === null || inUse?.record === unsaved) return false;
      use(unsaved);
      return true;
    },
    /** A heartbeat told how long the value is to be used. */
    correct(renewAfterS: number) {
      if (renewal !== null) renewal = corrected(renewal, renewAfterS, clock);
    },
    forget() {
      inUse = null;
      renewal = null;
      unsaved = null;
      problem = null;
      saveDueMs = Number.POSITIVE_INFINITY;
    },
  };

  /** A newer value waits for the disk. */
  function isWaiting(): boolean {
    return unsaved !== null && inUse?.record !== unsaved;
  }
}

function timesOf({ renew_after_s: renewAfterS, credential_expires_at: expiresAt }: CredentialRecord) {
  return { renewAfterS, expiresAt };
}
