import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";

import type { Credential } from "../../client/credentials.ts";
import { loadCredential } from "../../client/credentials.ts";
import { unsuitable, systemTrouble } from "../../fingerprint/findings.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import { errorCode } from "../../platform/files.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration.ts";
import type { LocatedFinding } from "../findings.ts";
import { documentFindings, locate } from "../findings.ts";
import type { Folders } from "../folders.ts";
import { openConfiguration, openManifest } from "../open.ts";
import { checkName, configurationFiles } from "../robot-setup.ts";
import type { Examined, Verdict } from "./check.ts";
import { fail, ok, skip, warn } from "./check.ts";

const ALL_FINDINGS = "see all of it with: robot-policy-agent check";

export async function checkConfiguration(
  { machine }: CommandContext,
  folders: Folders,
): Promise<Examined<AgentConfiguration>> {
  const document = openConfiguration(machine, folders.config_path);
  await document.refresh(false);
  const findings = documentFindings(document);
  const configuration = document.reading.value;
  if (configuration === null) return { verdict: judgeFindings(findings, ""), value: null };
  const hostname = machine.identity.hostname();
  const name = checkName(configuration, { hostname, machine: await machine.identity.machine() });
  const all = name === null ? findings : [...findings, locate(document, name)];
  return { verdict: judgeFindings(all, folders.config_path), value: configuration };
}

export async function checkManifest(
  { machine }: CommandContext,
  configuration: AgentConfiguration,
): Promise<Examined<RobotManifest>> {
  const document = openManifest(machine, configuration.manifest, () => 0);
  await document.refresh(false);
  const manifest = document.reading.value;
  const what = `${configuration.manifest}: ${manifest?.robot_type_id ?? ""}`;
  if (manifest?.status === "draft") {
    return { verdict: warn(`${what}: a draft is not registered`, "set status: ready"), value: manifest };
  }
  return { verdict: judgeFindings(documentFindings(document), what), value: manifest };
}

/** The worst finding, with how many there are beside it. */
function judgeFindings(findings: readonly LocatedFinding[], fine: string): Verdict {
  const worst = findings.find(({ severity }) => severity === "error") ?? findings[0];
  if (worst === undefined) return ok(fine);
  const more = findings.length === 1 ? "" : ` (and ${findings.length - 1} more)`;
  const what = `${worst.file}:${worst.line}:${worst.column}: ${worst.message}${more}`;
  return worst.severity === "error" ? fail(EXIT.invalid, what, ALL_FINDINGS) : warn(what, ALL_FINDINGS);
}

/** Permissions are judged as the user of this process; that says something about the agent only where it is the same user. */
export async function checkUser({ machine, user_id }: CommandContext, { state_directory }: Folders): Promise<Verdict> {
  const owner_id = await ownerOf(state_directory, machine.files);
  if (owner_id === null) return skip(`user ${user_id}; the agent has not run here yet`);
  if (owner_id === user_id) return ok(`user ${user_id}, as the agent`);
  return warn(
    `user ${user_id}, but the agent is user ${owner_id}: what this one may read, the agent perhaps may not`,
    `sudo -u '#${owner_id}' robot-policy-agent doctor`,
  );
}

async function ownerOf(directory: string, files: CommandContext["machine"]["files"]): Promise<number | null> {
  try {
    return (await files.stat(directory)).user_id;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}

/** Every configuration file is there, is a regular file, and can be opened. Nothing of it is read: `check` hashes them. */
export async function checkFiles(
  context: CommandContext,
  configuration: AgentConfiguration,
  manifest: RobotManifest,
): Promise<Verdict> {
  const resolved = configurationFiles(configuration, manifest);
  if (resolved.kind === "finding") return fail(EXIT.invalid, resolved.finding.message, ALL_FINDINGS);
  const { files } = resolved;
  const limit_bytes = configuration.watch.file_limit_bytes;
  const problems = await Promise.all(files.map(({ path }) => examineFile(context, path, limit_bytes)));
  const bad = problems.filter((problem) => problem !== null);
  const [first] = bad;
  if (first === undefined) return ok(`${files.length} of ${files.length} can be read as user ${context.user_id}`);
  return fail(EXIT.invalid, `${bad.length} of ${files.length} cannot be used: ${first.what}`, first.remedy);
}

interface FileProblem {
  readonly what: string;
  readonly remedy: string;
}

async function examineFile(
  { machine: { files }, user_id }: CommandContext,
  path: string,
  limit_bytes: number,
): Promise<FileProblem | null> {
  try {
    const trouble = unsuitable(path, await files.stat(path), limit_bytes);
    if (trouble !== undefined) return split(trouble.message);
    await (await files.openForReading(path)).close();
    return null;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code === "EACCES") return denied(path, user_id);
    return split((await systemTrouble(files, path, code)).message);
  }
}

/** Messages of fingerprint/findings.ts are `what; remedy`. */
function split(message: string): FileProblem {
  const [what = "", ...remedy] = message.split("; ");
  const fallback = "correct the file, or its path in the manifest";
  return { what, remedy: remedy.length === 0 ? fallback : remedy.join("; ") };
}

/** Names the one folder that does not let the user pass, or the file itself. */
async function denied(path: string, user_id: number): Promise<FileProblem> {
  const folders = ancestors(path);
  for (const folder of folders) {
    if (await isClosed(folder)) {
      const what = `${path}: user ${user_id} may not enter ${folder}`;
      return { what, remedy: `setfacl -m u:${user_id}:x ${quote(folder)}` };
    }
  }
  return { what: `${path}: user ${user_id} may not read it`, remedy: `setfacl -m u:${user_id}:r ${quote(path)}` };
}

/** From the top. */
function ancestors(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [...ancestors(parent), parent];
}

async function isClosed(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.X_OK);
    return false;
  } catch {
    return true;
  }
}

/** A path as one word of a shell command. */
function quote(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

export async function checkKey(
  { machine, environment, user_id }: CommandContext,
  { credentials_directory }: Folders,
  configuration: AgentConfiguration,
): Promise<Examined<Credential>> {
  const found = await loadCredential(
    {
      credentials_directory: credentials_directory ?? undefined,
      key_file: configuration.service.key_file ?? undefined,
      environment_key: environment["ROBOT_POLICY_API_KEY"],
      service_user_id: user_id,
    },
    machine.files,
  );
  switch (found.kind) {
    case "credential":
      return { verdict: ok(`found in ${found.where}, and in form`), value: found };
    case "credential-problem":
      return { verdict: fail(EXIT.unauthorized, `${found.what} (${found.where})`, found.fix), value: null };
  }
}
