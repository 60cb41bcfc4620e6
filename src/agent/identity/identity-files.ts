/**
 * What the agent keeps of its own identity in the state directory: the key that it made, the enrolment that waits, and the credential. One
 * file each, readable by the agent only, replaced durably. Key and credential are in no other place. Each record names the key that it
 * belongs to, so that files of different enrolments are never mixed.
 */
import { join } from "node:path";

import * as z from "zod";

import { removeIfPresent } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import { octal } from "../../platform/text/octal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { isOtherMachine, isSaved, NewerState, readState, replaceState, setAside } from "../registration/state-file.ts";

const name = z.string().min(1);
const amount = z.number().min(0);

const keySchema = z.object({
  /** Where the key may be used. */
  service_url: name,
  /** The machine that made it; null where it has no id. */
  machine: name.nullable(),
  public_key: name,
  /** The private key (RFC 8032), 32 bytes in base64url. */
  seed: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  made_at: name,
  /** The robot that this computer was at this service with an earlier key; absent or null for none. */
  before: z.object({ robot_name: name, configured_name: name.nullish() }).nullish(),
});

/** The key pair that this computer made. */
export type KeyRecord = Readonly<z.output<typeof keySchema>>;

const enrolmentSchema = z.object({
  public_key: name,
  approval_id: name,
  poll_token: name,
  user_code: name,
  expires_at: name,
  interval_s: amount,
  /** What the computer said of its robot; absent or null in a file of an earlier agent. */
  said: name.nullish(),
  /** Why a person has to decide although the computer has a key for enrolments; absent or null for no such reason. */
  waits_because: name.nullish(),
});

/** An enrolment that waits for an operator. */
export type EnrolmentRecord = Readonly<z.output<typeof enrolmentSchema>>;

const credentialSchema = z.object({
  public_key: name,
  robot_id: name,
  /** As the operator approved it; registrations use this name. */
  robot_name: name,
  /** The operator's region, in place of the one that this computer said; absent or null where they are the same. */
  corrected_region: z.object({ from: name, to: name }).nullish(),
  /** What the approval gave beside what this computer said; for a configuration that has none. Absent or null for nothing. */
  site: name.nullish(),
  labels: z.record(z.string(), z.string()).nullish(),
  /** The name in the configuration at the approval. */
  configured_name: name.nullish(),
  installation_id: name,
  installation_token: name,
  credential_expires_at: name,
  renew_after_s: amount,
  /** By the clock of this machine, which may be wrong; the other times are the service's. */
  issued_at: name,
});

/** What the service issued. */
export type CredentialRecord = Readonly<z.output<typeof credentialSchema>>;

/** The robot as an operator approved it. */
export type ApprovedRobot = Pick<
  CredentialRecord,
  "robot_id" | "robot_name" | "corrected_region" | "site" | "labels" | "configured_name"
>;

/** What is kept of a robot whose credential ended, so that it enrolls under the name that it had at the service. */
export type RobotBefore = Pick<CredentialRecord, "robot_name" | "configured_name">;

const FORM = { member: "content", mode: 0o600, limitBytes: 64 * 1024 } as const;
const NAMES = {
  key: "identity-key.json",
  enrolment: "identity-enrolment.json",
  credential: "identity-credential.json",
} as const;

type FileName = keyof typeof NAMES;

/** Everything that could be read; what is missing or unusable is null. */
export interface StoredIdentity {
  readonly key: KeyRecord | null;
  readonly enrolment: EnrolmentRecord | null;
  readonly credential: CredentialRecord | null;
  /** Torn files and files of another program, where they lie now. */
  readonly setAside: readonly string[];
}

export type IdentityFiles = ReturnType<typeof createIdentityFiles>;

export function identityCredentialPath(stateDirectory: string): string {
  return join(stateDirectory, NAMES.credential);
}

/** In words, an error of `load`. */
export function unreadableIdentity(error: unknown): string {
  if (error instanceof IdentityExposed) return error.message;
  if (error instanceof NewerState) return "the identity of this robot was written by a newer agent";
  return `the identity of this robot cannot be read (${errorCode(error) ?? "unknown error"})`;
}

/** Other users may have copied the identity, or put another one in its place: as with an API key, it is not used. */
class IdentityExposed extends Error {
  readonly code = "identity-exposed";
}

export function createIdentityFiles(files: Files, stateDirectory: string) {
  const pathOf = (name: FileName) => join(stateDirectory, NAMES[name]);

  const save = (name: FileName, content: unknown) => replaceState(files, pathOf(name), FORM, content);

  async function moveIfPresent(name: FileName, suffix: string): Promise<void> {
    await files.rename(pathOf(name), pathOf(name) + suffix).catch((error: unknown) => {
      if (errorCode(error) !== "ENOENT") throw error;
    });
  }

  async function refuse(path: string, others: string, fix: string, isBad: (mode: number) => boolean): Promise<void> {
    const { mode } = await files.stat(path);
    if (!isBad(mode)) return;
    const what = `${path} has mode ${octal(mode)}: others can ${others} the identity of this robot`;
    throw new IdentityExposed(`${what}; ${fix} ${shellWord(path)}`);
  }

  const refuseExposed = (path: string) => refuse(path, "read or write", "chmod 600", (mode) => (mode & 0o066) !== 0);

  /** In a sticky folder only the owner of a file can replace it. */
  const refuseOpen = () => refuse(stateDirectory, "replace", "chmod o-w", (mode) => (mode & 0o1002) === 0o002);

  return {
    /** For messages. */
    credentialPath: pathOf("credential"),
    /** @param mend moves unusable files aside. @throws as `readState`; when others can read or write the identity. */
    async load(mend: boolean): Promise<StoredIdentity> {
      const aside: string[] = [];
      // A robot that is about to get its identity, too.
      if (mend && (await isSaved(files, stateDirectory))) await refuseOpen();
      async function read<T>(name: FileName, schema: z.ZodType<T>): Promise<T | null> {
        const path = pathOf(name);
        const state = await readState(files, path, { ...FORM, schema });
        if (state.kind === "none") return null;
        if (state.kind === "content") {
          await refuseOpen();
          await refuseExposed(path);
          return state.content;
        }
        aside.push(mend ? await setAside(files, path) : path);
        return null;
      }
      const key = await read("key", keySchema);
      const enrolment = await read("enrolment", enrolmentSchema);
      const credential = await read("credential", credentialSchema);
      return { key, enrolment, credential, setAside: aside };
    },
    saveKey: (key: KeyRecord) => save("key", key),
    /** False only when the key file is known to be missing. */
    hasKey: () => isSaved(files, pathOf("key")),
    saveEnrolment: (enrolment: EnrolmentRecord) => save("enrolment", enrolment),
    saveCredential: (credential: CredentialRecord) => save("credential", credential),
    forgetEnrolment: () => removeIfPresent(files, pathOf("enrolment")),
    /** Keeps a key that the service does not accept any more for a person to inspect; it is not used. */
    async moveKeyAway() {
      await moveIfPresent("key", ".old");
      await files.syncDirectory(stateDirectory);
    },
    /** Keeps the files of another computer for a person to inspect; they are not used. */
    async setAsideForeign() {
      // The credential first: without its key it is of no use.
      for (const name of ["credential", "enrolment", "key"] as const) await moveIfPresent(name, ".foreign");
      await files.syncDirectory(stateDirectory);
    },
  };
}

/** Of this machine, for one service; the credential is there once the enrolment was approved. */
export interface OwnIdentity extends Pick<StoredIdentity, "enrolment" | "credential"> {
  readonly before: RobotBefore | null;
}

export const NOTHING_KEPT: OwnIdentity = { enrolment: null, credential: null, before: null };

/** As commands without the daemon use it. @throws Node system errors. */
export async function readOwnIdentity(
  files: Files,
  stateDirectory: string,
  serviceUrl: string,
  machine: string | null,
): Promise<OwnIdentity> {
  const { key, enrolment, credential } = await createIdentityFiles(files, stateDirectory).load(false);
  if (key === null || key.service_url !== serviceUrl || isOtherMachine(key, machine)) return NOTHING_KEPT;
  return { enrolment: belonging(enrolment, key), credential: belonging(credential, key), before: key.before ?? null };
}

/** Files of another key are left over from an enrolment that another one replaced. */
export function belonging<T extends { readonly public_key: string }>(
  record: T | null,
  key: KeyRecord | null,
): T | null {
  return record !== null && record.public_key === key?.public_key ? record : null;
}
