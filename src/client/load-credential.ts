import { dirname } from "node:path";

import { errorCode, type Files, type FileStat, type ReadableFile } from "../platform/files/files.ts";
import { hidingSetting } from "../platform/systemd/unit-mounts.ts";
import { octal } from "../platform/text/octal.ts";
import { shellWord } from "../platform/text/shell-word.ts";
import {
  type Credential,
  type CredentialProblem,
  type CredentialProblemCode,
  type CredentialSource,
  parseKey,
} from "./credential.ts";

/** A key is one line; a larger file is something else. */
const KEY_FILE_LIMIT_BYTES = 4096;

/** Name of the systemd credential: `LoadCredential=api-key:PATH`. */
const CREDENTIAL_NAME = "api-key";

/** Name of the environment variable that may hold the key, for provisioning. */
export const KEY_VARIABLE = "ROBOT_POLICY_API_KEY";

/** Where a key may be. Empty texts count as absent. */
export interface CredentialSources {
  /** `$CREDENTIALS_DIRECTORY`, set by systemd. */
  readonly credentialsDirectory?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Value of `ROBOT_POLICY_API_KEY`. */
  readonly environmentKey?: string | undefined;
  /** The user that this program runs as. It or root must own the key file. */
  readonly serviceUserId: number;
  /** Its name, for commands in messages; the number is used where it has none. */
  readonly serviceUserName?: string | undefined;
}

/**
 * Finds the API key: the systemd credential, else the key file, else the environment. The
 * problem of an existing file is reported, and the next source is not tried.
 *
 * Other users must have no access to the key file. systemd protects its credentials itself.
 *
 * @throws only bugs. Call it for each request, so that a replaced key is used at once.
 */
export async function loadCredential(
  sources: CredentialSources,
  files: Files,
): Promise<Credential | CredentialProblem> {
  const directory = sources.credentialsDirectory ?? "";
  if (directory !== "") {
    const path = `${directory.replace(/\/+$/, "")}/${CREDENTIAL_NAME}`;
    const found = await readKeyFile(path, "systemd", sources, files);
    if (found.kind === "credential" || found.code !== "key-missing") return found;
  }
  const keyFile = sources.keyFile ?? "";
  const found = keyFile === "" ? null : await readKeyFile(keyFile, "key-file", sources, files);
  if (found !== null && (found.kind === "credential" || found.code !== "key-missing")) return found;

  const value = sources.environmentKey ?? "";
  if (value !== "") return parseKey(value, "environment", KEY_VARIABLE);
  return (
    found ?? problem("key-missing", KEY_VARIABLE, "there is no API key", "set service.key_file in the configuration")
  );
}

async function readKeyFile(
  path: string,
  source: CredentialSource,
  user: ServiceUser,
  files: Files,
): Promise<Credential | CredentialProblem> {
  let file: ReadableFile;
  try {
    file = await files.openForReading(path);
  } catch (error) {
    return unopened(error, path, user, files);
  }
  try {
    // Check the open file, so that the checked file is the one that is read.
    const stat = await file.stat();
    const bad = checkFile(stat, path, source, user) ?? (source === "systemd" ? null : await checkFolder(path, files));
    if (bad !== null) return bad;
    const text = await readText(file);
    if (text === null) return tooLarge(path);
    return parseKey(text, source, path);
  } catch (error) {
    return unopened(error, path, user, files);
  } finally {
    // Nothing was written, so a failed close loses nothing.
    await file.close().catch(() => {});
  }
}

type ServiceUser = Pick<CredentialSources, "serviceUserId" | "serviceUserName">;

/** For chown(1) and install(1). */
function nameOf({ serviceUserId, serviceUserName = "" }: ServiceUser): string {
  return serviceUserName === "" ? String(serviceUserId) : serviceUserName;
}

function unopened(error: unknown, path: string, user: ServiceUser, files: Files): CredentialProblem {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const setting = hidingSetting(files.mountsNow(), path);
  if (setting !== null) {
    const fix = "move the file, or change the setting: systemctl edit robot-policy-agent";
    return problem("key-unreadable", path, `the unit hides the key file from the agent (${setting})`, fix);
  }
  if (code === "ENOENT" || code === "ENOTDIR") {
    return problem(
      "key-missing",
      path,
      "the key file does not exist",
      "put it there with: sudo robot-policy-agent set-key",
    );
  }
  const fix = code === "EACCES" ? `chown ${nameOf(user)} ${shellWord(path)}` : `check ${path}`;
  return problem("key-unreadable", path, `the key file cannot be read (${code})`, fix);
}

function checkFile(
  stat: FileStat,
  path: string,
  source: CredentialSource,
  user: ServiceUser,
): CredentialProblem | null {
  const { serviceUserId } = user;
  if (stat.kind !== "file") {
    return problem(
      "key-not-a-file",
      path,
      "the key file is not a regular file",
      "give the path of a file with the key",
    );
  }
  if (stat.sizeBytes > KEY_FILE_LIMIT_BYTES) return tooLarge(path);
  if (source === "systemd") return null;
  // Root may provision for a service user, who then owns the file.
  if (serviceUserId !== 0 && stat.userId !== 0 && stat.userId !== serviceUserId) {
    const what = `the key file belongs to user ${stat.userId}, neither root nor the agent`;
    return problem("key-owner", path, what, `chown ${nameOf(user)} ${shellWord(path)}`);
  }
  if ((stat.mode & 0o066) !== 0) {
    const what = `the key file has mode ${octal(stat.mode & 0o777)}: others can read or write it`;
    return problem("key-exposed", path, what, `chmod 600 ${shellWord(path)}`);
  }
  return null;
}

/** A user who can replace the key file chooses the organization of the robot. In a sticky folder only the owner of the file can. */
async function checkFolder(path: string, files: Files): Promise<CredentialProblem | null> {
  const folder = dirname(path);
  const { mode } = await files.stat(folder);
  if ((mode & 0o1002) !== 0o002) return null;
  const what = `the folder of the key file has mode ${octal(mode)}: others can replace the key`;
  return problem("key-exposed", folder, what, `chmod o-w ${shellWord(folder)}`);
}

/** Null when the file grew beyond the limit after its check. */
async function readText(file: ReadableFile): Promise<string | null> {
  const buffer = new Uint8Array(KEY_FILE_LIMIT_BYTES + 1);
  let length = 0;
  while (length < buffer.byteLength) {
    const count = await file.read(buffer.subarray(length), length);
    if (count === 0) return new TextDecoder("utf-8", { ignoreBOM: true }).decode(buffer.subarray(0, length));
    length += count;
  }
  return null;
}

function tooLarge(path: string): CredentialProblem {
  const what = `the key file is larger than ${KEY_FILE_LIMIT_BYTES} bytes`;
  return problem("key-too-large", path, what, "write the key alone, on one line");
}

function problem(code: CredentialProblemCode, where: string, what: string, fix: string): CredentialProblem {
  return { kind: "credential-problem", code, what, where, fix };
}
