import { dirname, resolve } from "node:path";

import { type Credential, type CredentialProblem, parseKey } from "../../client/credential.ts";
import { readBounded, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode } from "../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { type AgentUser, findAgentUser } from "../access/agent-user.ts";
import { type Folders, resolveFolders } from "../configuration/folders.ts";
import type { ServiceConfiguration } from "../configuration/keys.ts";
import { invalidConfiguration, readConfigurationNow } from "../configuration/documents.ts";
import type { CommandContext, CommonOptions } from "./context.ts";
import { askRunningAgent, OTHER_AGENT } from "../control/client.ts";
import { unreadableIdentity } from "../identity/identity-files.ts";
import { storedCredential } from "../registration/connect.ts";
import { showProblem } from "./show.ts";

export interface SetKeyOptions extends CommonOptions {
  /** Read the key from this file instead of stdin. */
  readonly from?: string;
}

export interface SetKeyContext extends CommandContext {
  readSecret(prompt: string, limitLength: number): Promise<string | "too-large" | null>;
}

const AS_ROOT = "sudo robot-policy-agent set-key";
/** A larger input is no key, even with white space around it. */
export const KEY_LIMIT = 4096;

/** `set-key`: writes the API key to the key file, readable only by the agent. Reads it from stdin or a file, never from an argument. */
export async function setKey(options: SetKeyOptions, context: SetKeyContext): Promise<ExitCode> {
  const { machine, terminal } = context;
  const folders = resolveFolders(options, context.environment);
  const refuse = (problem: Problem) => showProblem(problem, { key_file: null }, options, terminal);

  const configuration = await readConfigurationNow(machine, folders.configPath);
  const current = configuration.reading.value;
  if (current === null) return refuse(invalidConfiguration(configuration));
  const path = current.service.key_file;
  if (path === null)
    return refuse({
      code: "no-key-file",
      what: "the configuration has no key file",
      where: folders.configPath,
      fix: "set service.key_file, for example /etc/robot-policy-agent/api-key",
    });
  const agentUser = await findAgentUser(context, folders);
  if (agentUser.relation === "other") {
    const what = `only root can set the key, which only ${agentUser.name} can read`;
    return refuse({ code: "key-not-writable", what, where: path, fix: AS_ROOT });
  }
  const key = await readKey(options, context);
  context.signal.throwIfAborted();
  if (key.kind === "credential-problem") return refuse(key);
  const problem = await putInPlace(context, path, key, agentUser);
  if (problem !== null) return refuse(problem);
  const owner = agentUser.account?.userId ?? context.userId;
  if (options.json === true) terminal.json({ key_file: path, user_id: owner, mode: "0600" });
  else {
    const reader = agentUser.relation === "absent" ? "root" : agentUser.name;
    terminal.print(
      `The key is in ${path}, readable only by ${reader}. ${await describeUse(current.service, folders, context)}`,
    );
  }
  if (agentUser.relation === "absent")
    terminal.note(`There is no user ${agentUser.name} yet. Once it exists: chown ${agentUser.name} ${shellWord(path)}`);
  return EXIT.ok;
}

async function describeUse(service: ServiceConfiguration, folders: Folders, context: CommandContext): Promise<string> {
  try {
    if ((await storedCredential(service, context.machine, folders.stateDirectory)) !== null)
      return "It is not used: this robot has, or is to get, a credential of its own.";
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return `It is not used for now: ${unreadableIdentity(error)}.`;
  }
  const running = await askRunningAgent(folders, context);
  return "code" in running && running.code === OTHER_AGENT
    ? `The running agent does not use it: ${running.what}.`
    : "A running agent uses it at once.";
}

async function readKey(
  { from }: SetKeyOptions,
  { machine, readSecret }: SetKeyContext,
): Promise<Credential | CredentialProblem> {
  const where = from ?? "stdin";
  const unusable = (code: CredentialProblem["code"], what: string, fix = "give the key alone, on one line") =>
    ({ kind: "credential-problem", code, what, where, fix }) as const;
  try {
    const read =
      from === undefined
        ? await readSecret("API key: ", KEY_LIMIT)
        : await readBounded(machine.files, resolve(from), KEY_LIMIT);
    if (read === "too-large") return unusable("key-too-large", "it is longer than a key");
    if (read === null) return unusable("key-empty", "it contains no key");
    const text = typeof read === "string" ? read : Buffer.from(read).toString("utf8");
    return parseKey(text, from === undefined ? "environment" : "key-file", where);
  } catch (error) {
    const code = errorCode(error);
    switch (code) {
      case undefined:
        throw error;
      case "ENOENT":
      case "ENOTDIR":
        return unusable("key-missing", "the file does not exist", "correct the path after --from");
      case "EINVAL":
      // A socket (open(2)).
      case "ENXIO":
        return unusable("key-unreadable", "it is not a regular file", "omit --from: stdin may be a pipe");
      default:
        return unusable("key-unreadable", `it cannot be read (${code})`, `look at it: ls -ld ${shellWord(where)}`);
    }
  }
}

/** @returns the problem, in which case the old key is unchanged. */
async function putInPlace(
  { machine: { files } }: CommandContext,
  path: string,
  { secret }: Credential,
  { relation, account }: AgentUser,
): Promise<Problem | null> {
  const owner = relation === "root" && account !== null ? account : undefined;
  try {
    const before = await files.linkStat(path).catch(() => null);
    // Another tool manages a key behind a link; a file in its place would miss the next rotation.
    if (before !== null && before.kind !== "file")
      return {
        code: "key-not-a-file",
        what: "it is not a regular file and was not changed",
        where: path,
        fix: "replace the target of the link, or set another service.key_file",
      };
    await files.makeDirectory(dirname(path), 0o755);
    await replaceDurably(files, path, Buffer.from(`${secret.reveal()}\n`), 0o600, owner);
    return null;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const isDenied = code === "EACCES" || code === "EPERM";
    const fix = isDenied ? AS_ROOT : `look at the disk: df -h ${shellWord(dirname(path))}`;
    return { code: "key-not-writable", what: `the key cannot be written (${code})`, where: path, fix };
  }
}
