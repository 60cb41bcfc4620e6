import { dirname } from "node:path";

import { errorCode, type Files, type FileStat, type ReadableFile } from "../platform/files/files.ts";
import { hidingSetting } from "../platform/systemd/unit-mounts.ts";
import { octal } from "../platform/text/octal.ts";
import { shellWord } from "../platform/text/shell-word.ts";
import { Secret } from "./secret.ts";

export interface Credential {
  readonly kind: "credential";
  readonly secret: Secret;
  readonly source: CredentialSource;
  /** The file it was read from, or the name of the variable. */
  readonly where: string;
}

/** `enrolment`: the robot's own, beside the API keys. */
export type CredentialSource = "systemd" | "key-file" | "environment" | "enrolment";

/** Says which key it is, and where it lies. */
export function describeCredential({ source, where }: Pick<Credential, "source" | "where">): string {
  return source === "enrolment" ? `the robot's own credential in ${where}` : `the API key in ${where}`;
}

export type CredentialProblemCode =
  | "key-missing"
  | "key-unreadable"
  | "key-not-a-file"
  | "key-too-large"
  | "key-exposed"
  | "key-owner"
  | "key-empty"
  | "key-several-lines"
  | "key-space"
  | "key-form"
  /** The robot's own credential must not be used now. */
  | "not-enrolled";

/** There is no usable key. The texts contain no part of it. */
export interface CredentialProblem {
  readonly kind: "credential-problem";
  readonly code: CredentialProblemCode;
  readonly what: string;
  readonly where: string;
  /** What to do, as a command where possible. */
  readonly fix: string;
}

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
  const { credentialsDirectory: directory = "", keyFile = "", environmentKey = "" } = sources;
  let missing = problem(
    "key-missing",
    KEY_VARIABLE,
    "there is no API key",
    "set service.key_file in the configuration",
  );
  if (directory !== "") {
    const path = `${directory.replace(/\/+$/, "")}/${CREDENTIAL_NAME}`;
    const found = await readKeyFile(path, "systemd", sources, files);
    if (found.kind === "credential" || found.code !== "key-missing") return found;
  }
  if (keyFile !== "") {
    const found = await readKeyFile(keyFile, "key-file", sources, files);
    if (found.kind === "credential" || found.code !== "key-missing") return found;
    missing = found;
  }
  return environmentKey === "" ? missing : parseKey(environmentKey, "environment", KEY_VARIABLE);
}

/** A key is one line; a larger file is something else. */
const KEY_FILE_LIMIT_BYTES = 4096;

async function readKeyFile(
  path: string,
  source: CredentialSource,
  user: CredentialSources,
  files: Files,
): Promise<Credential | CredentialProblem> {
  let file: ReadableFile | null = null;
  try {
    file = await files.openForReading(path);
    // Check the open file, so that the checked file is the one that is read.
    const bad = checkFile(await file.stat(), path, source, user);
    if (bad !== null) return bad;
    const exposed = source === "systemd" ? null : await checkFolder(path, files);
    if (exposed !== null) return exposed;
    const buffer = new Uint8Array(KEY_FILE_LIMIT_BYTES + 1);
    let length = 0;
    for (let count = -1; count !== 0; length += count) count = await file.read(buffer.subarray(length), length);
    if (length > KEY_FILE_LIMIT_BYTES) return tooLarge(path);
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(buffer.subarray(0, length));
    return parseKey(text, source, path);
  } catch (error) {
    return unreadable(error, path, user, files);
  } finally {
    // Nothing was written, so a failed close loses nothing.
    await file?.close().catch(() => {});
  }
}

/** The service's user, for chown(1) and install(1). */
function nameOf({ serviceUserId, serviceUserName = "" }: CredentialSources): string {
  return serviceUserName === "" ? String(serviceUserId) : serviceUserName;
}

function unreadable(error: unknown, path: string, user: CredentialSources, files: Files): CredentialProblem {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const setting = hidingSetting(files.mountsNow(), path);
  if (setting !== null) {
    const fix = "move the file, or change the setting: systemctl edit robot-policy-agent";
    return problem("key-unreadable", path, `the unit hides the key file from the agent (${setting})`, fix);
  }
  if (code === "ENOENT" || code === "ENOTDIR") {
    const fix =
      "enroll, which needs no key: sudo robot-policy-agent enroll; or put a key there: sudo robot-policy-agent set-key";
    return problem("key-missing", path, "the key file does not exist", fix);
  }
  const fix = code === "EACCES" ? `chown ${nameOf(user)} ${shellWord(path)}` : `check ${path}`;
  return problem("key-unreadable", path, `the key file cannot be read (${code})`, fix);
}

function checkFile(
  { kind, sizeBytes, userId, mode }: FileStat,
  path: string,
  source: CredentialSource,
  user: CredentialSources,
): CredentialProblem | null {
  if (kind !== "file") {
    const fix = "give the path of a file with the key";
    return problem("key-not-a-file", path, "the key file is not a regular file", fix);
  }
  if (sizeBytes > KEY_FILE_LIMIT_BYTES) return tooLarge(path);
  if (source === "systemd") return null;
  // Root may provision for a service user, who then owns the file.
  if (user.serviceUserId !== 0 && userId !== 0 && userId !== user.serviceUserId) {
    const what = `the key file belongs to user ${userId}, neither root nor the agent`;
    return problem("key-owner", path, what, `chown ${nameOf(user)} ${shellWord(path)}`);
  }
  if ((mode & 0o066) === 0) return null;
  const what = `the key file has mode ${octal(mode & 0o777)}: others can read or write it`;
  return problem("key-exposed", path, what, `chmod 600 ${shellWord(path)}`);
}

/** A user who can replace the key file chooses the organization of the robot. In a sticky folder only the owner of the file can. */
async function checkFolder(path: string, files: Files): Promise<CredentialProblem | null> {
  const folder = dirname(path);
  const { mode } = await files.stat(folder);
  if ((mode & 0o1002) !== 0o002) return null;
  const what = `the folder of the key file has mode ${octal(mode)}: others can replace the key`;
  return problem("key-exposed", folder, what, `chmod o-w ${shellWord(folder)}`);
}

const REWRITE = "write the key alone, on one line";

function tooLarge(path: string): CredentialProblem {
  return problem("key-too-large", path, `the key file is larger than ${KEY_FILE_LIMIT_BYTES} bytes`, REWRITE);
}

/** `sk_<marker>_<key>` (service document, section 5), of the characters a bearer token may have (RFC 6750 section 2.1). It has to fit into a header. */
const KEY_PATTERN = /^(?=.{1,512}$)sk_[A-Za-z0-9]+_[A-Za-z0-9._~+/-]+=*$/;

/** Parses a key, after which editors and `echo` add a line ending. */
export function parseKey(text: string, source: CredentialSource, where: string): Credential | CredentialProblem {
  const key = text.replace(/\r?\n$/, "");
  if (key.trim() === "") return problem("key-empty", where, "there is no key in it", REWRITE);
  if (/[\r\n]/.test(key)) return problem("key-several-lines", where, "it has more than one line", REWRITE);
  if (/\s/.test(key)) {
    const what = "it has a space or an invisible character beside or inside the key";
    return problem("key-space", where, what, REWRITE);
  }
  if (!KEY_PATTERN.test(key)) {
    const fix = "a key begins with sk_ and has no spaces: copy it whole, and nothing else";
    return problem("key-form", where, "what is in it is not an API key", fix);
  }
  return { kind: "credential", secret: new Secret(key), source, where };
}

function problem(code: CredentialProblemCode, where: string, what: string, fix: string): CredentialProblem {
  return { kind: "credential-problem", code, what, where, fix };
}
