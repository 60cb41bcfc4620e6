/**
 * What the agent keeps of its own identity in the state directory: the key that it made, the enrolment that waits, and the credential. One
 * file each, readable by the agent only, replaced durably. Key and credential are in no other place.
 */
import { join } from "node:path";

import { Secret } from "../../client/secret.ts";
import { readBounded, removeIfPresent, replaceDurably } from "../../platform/files/durable-file.ts";
import type { Files, FileOwner } from "../../platform/files/files.ts";
import { errorCode } from "../../platform/files/files.ts";
import { isObject } from "../../platform/is-object.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import { checksum } from "../registration/registration.ts";
import type { CredentialRecord, EnrolmentRecord, KeyRecord } from "./records.ts";
import { isCredentialRecord, isEnrolmentRecord, isKeyRecord } from "./records.ts";

const SCHEMA_VERSION = 1;
const FILE_MODE = 0o600;
const FILE_LIMIT_BYTES = 64 * 1024;
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

/** The file whose presence says that this robot has an identity of its own, or is getting one. */
export function identityKeyPath(stateDirectory: string): string {
  return join(stateDirectory, NAMES.key);
}

export function identityCredentialPath(stateDirectory: string): string {
  return join(stateDirectory, NAMES.credential);
}

export function createIdentityFiles(files: Files, stateDirectory: string) {
  const pathOf = (name: FileName) => join(stateDirectory, NAMES[name]);

  async function save(name: FileName, content: unknown): Promise<void> {
    await replaceDurably(files, pathOf(name), encode(content), FILE_MODE, await ownerOf(files, stateDirectory));
  }

  async function read<T>(
    name: FileName,
    isOurs: (value: unknown) => value is T,
    mend: boolean,
  ): Promise<{ readonly value: T | null; readonly setAside: readonly string[] }> {
    const path = pathOf(name);
    const content = await readContent(files, path);
    if (content === "missing") return { value: null, setAside: [] };
    if (content !== "unusable" && isOurs(content)) return { value: content, setAside: [] };
    if (!mend) return { value: null, setAside: [path] };
    const aside = `${path}.damaged`;
    // On a read-only disk the file stays, but is not used either.
    const moved = await files.rename(path, aside).then(
      () => aside,
      () => path,
    );
    return { value: null, setAside: [moved] };
  }

  return {
    /** @param mend moves unusable files aside. @throws Node system errors other than ENOENT. */
    async load(mend: boolean): Promise<StoredIdentity> {
      const key = await read("key", isKeyRecord, mend);
      const enrolment = await read("enrolment", isEnrolmentRecord, mend);
      const credential = await read("credential", isCredentialRecord, mend);
      return {
        key: key.value,
        enrolment: enrolment.value,
        credential: credential.value,
        setAside: [...key.setAside, ...enrolment.setAside, ...credential.setAside],
      };
    },
    /** Writes the first key; false when there is one already. */
    async createKey(key: KeyRecord): Promise<boolean> {
      const owner = await ownerOf(files, stateDirectory);
      try {
        const file = await files.createExclusive(pathOf("key"), FILE_MODE, owner);
        try {
          await file.write(encode(key));
          await file.sync();
        } finally {
          await file.close();
        }
      } catch (error) {
        if (errorCode(error) === "EEXIST") return false;
        throw error;
      }
      await files.syncDirectory(stateDirectory);
      return true;
    },
    replaceKey: (key: KeyRecord) => save("key", key),
    /** False only when the key file is known to be missing. */
    hasKey: () => exists(files, pathOf("key")),
    saveEnrolment: (enrolment: EnrolmentRecord) => save("enrolment", enrolment),
    saveCredential: (credential: CredentialRecord) => save("credential", credential),
    forgetEnrolment: () => removeIfPresent(files, pathOf("enrolment")),
    /** Keeps a key that the service does not accept any more for a person to inspect; it is not used. */
    async moveKeyAway() {
      await files.rename(pathOf("key"), `${pathOf("key")}.old`).catch((error: unknown) => {
        if (errorCode(error) !== "ENOENT") throw error;
      });
      await files.syncDirectory(stateDirectory);
    },
    /** Keeps the files of another computer for a person to inspect; they are not used. */
    async setAsideForeign() {
      // The credential first: without its key it is of no use.
      for (const name of ["credential", "enrolment", "key"] as const) {
        await files.rename(pathOf(name), `${pathOf(name)}.foreign`).catch((error: unknown) => {
          if (errorCode(error) !== "ENOENT") throw error;
        });
      }
      await files.syncDirectory(stateDirectory);
    },
  };
}

/** The credential on the disk for requests to this service, as commands without the daemon use it; null for none. */
export async function readRobotCredential(
  files: Files,
  stateDirectory: string,
  serviceUrl: string,
  machine: string | null,
): Promise<{ readonly approved: CredentialRecord; readonly secret: Secret; readonly path: string } | null> {
  const { key, credential } = await createIdentityFiles(files, stateDirectory).load(false);
  if (key === null || credential === null || key.public_key !== credential.public_key) return null;
  if (key.service_url !== serviceUrl || isOfOtherMachine(key, machine)) return null;
  const path = identityCredentialPath(stateDirectory);
  return { approved: credential, secret: new Secret(credential.installation_token), path };
}

/** Whether the state directory has an identity of another machine in place of one of this. @throws Node system errors. */
export async function hasForeignIdentity(
  files: Files,
  stateDirectory: string,
  machine: string | null,
): Promise<boolean> {
  const { key, credential } = await createIdentityFiles(files, stateDirectory).load(false);
  if (key !== null && isOfOtherMachine(key, machine)) return true;
  // The agent has set it aside.
  return credential === null && (await exists(files, `${identityKeyPath(stateDirectory)}.foreign`));
}

/** True only for two different ids: a machine without an id (a container) cannot be distinguished. */
export function isOfOtherMachine(key: Pick<KeyRecord, "machine">, machine: string | null): boolean {
  return key.machine !== null && machine !== null && key.machine !== machine;
}

async function exists(files: Files, path: string): Promise<boolean> {
  try {
    await files.linkStat(path);
    return true;
  } catch (error) {
    return errorCode(error) !== "ENOENT";
  }
}

function encode(content: unknown): Uint8Array {
  const envelope = { schema_version: SCHEMA_VERSION, checksum: checksum(SCHEMA_VERSION, content), content };
  return Buffer.from(`${JSON.stringify(envelope, null, 2)}\n`);
}

async function readContent(files: Files, path: string): Promise<unknown> {
  let bytes: Uint8Array | "too-large";
  try {
    bytes = await readBounded(files, path, FILE_LIMIT_BYTES);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "missing";
    if (errorCode(error) === "EINVAL") return "unusable";
    throw error;
  }
  const envelope = bytes === "too-large" ? null : parseJson(Buffer.from(bytes).toString("utf8"));
  if (!isObject(envelope) || envelope["schema_version"] !== SCHEMA_VERSION) return "unusable";
  const content = envelope["content"];
  return checksum(SCHEMA_VERSION, content) === envelope["checksum"] ? content : "unusable";
}

/** `enroll` as root writes files that the agent's user reads later, so they get the owner of the directory. */
async function ownerOf(files: Files, stateDirectory: string): Promise<FileOwner> {
  return files.stat(stateDirectory);
}
