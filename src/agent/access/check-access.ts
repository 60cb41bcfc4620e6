import { explainAccess } from "../../access/access.ts";
import { SERVICE_NAME } from "../../access/unit.ts";
import { type Credential, type CredentialProblem, KEY_VARIABLE, loadCredential } from "../../client/credential.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { CommandContext } from "../commands/context.ts";
import type { ServiceConfiguration } from "../configuration/keys.ts";
import {
  type FolderEnvironment,
  type FolderOptions,
  type Folders,
  hasStandardState,
  resolveFolders,
} from "../configuration/folders.ts";
import { firstError, invalidConfiguration, readConfigurationNow, readManifestNow } from "../configuration/documents.ts";
import { type Document, locate, type LocatedFinding } from "../findings.ts";
import { identityCredentialPath } from "../identity/identity-files.ts";
import type { OneShot } from "../one-shot.ts";
import { storedCredential } from "../registration/connect.ts";
import { filesNow } from "../robot-setup.ts";
import { type AgentUser, explainDenial, findAgentUser } from "./agent-user.ts";

/** The files that the agent's user must read but cannot, each at the line that names it. Checks only modes and access lists. */
export async function accessFindings(
  folders: Pick<Folders, "configPath">,
  { machine: { files: disk }, collector }: Pick<OneShot, "machine" | "collector">,
  agentUser: AgentUser,
): Promise<readonly LocatedFinding[]> {
  const { probe } = agentUser;
  if (probe === null) return [];
  const { configuration, manifest } = collector.documents;
  const { ca_file: caFile } = collector.configuration.service;
  const listed = await filesNow(disk, collector.configuration, collector.manifest);
  const places: readonly Place[] = [
    { path: folders.configPath, document: configuration, loc: "" },
    { path: manifest.path, document: manifest, loc: "" },
    ...(caFile === null ? [] : [{ path: caFile, document: configuration, loc: "/service/ca_file" }]),
    ...listed.files.flatMap(({ path, entry, hardware }) => {
      if (hardware !== undefined) return [];
      return { path, document: manifest, loc: collector.manifest?.configuration_files[entry]?.loc ?? "" };
    }),
  ];
  const accesses = await explainAccess(
    probe,
    places.map(({ path }) => path),
  );
  return places.flatMap(({ path, document, loc }) => {
    const denial = explainDenial(path, accesses.get(path), agentUser);
    if (denial === null) return [];
    return [locate(document, { id: "file_unreadable", loc, message: `${denial.what}; ${denial.remedy}` })];
  });
}

/**
 * Files that root can read but the agent's user cannot: after registering those, the agent would report them as unreadable. Empty when
 * this process runs as the agent's user.
 */
export async function findDenials(
  oneShot: OneShot,
  folders: Folders,
  context: CommandContext,
): Promise<readonly LocatedFinding[]> {
  if (context.userId !== 0) return [];
  return accessFindings(folders, oneShot, await findAgentUser(context, folders));
}

/** A file, and where the configuration or manifest names it. */
interface Place {
  readonly path: string;
  readonly document: Document;
  readonly loc: string;
}

/** The findings and the denials, without findings that a denial reports in more detail. */
export function withDenials(
  findings: readonly LocatedFinding[],
  denials: readonly LocatedFinding[],
): readonly LocatedFinding[] {
  const told = new Set(denials.map(({ id, file, loc }) => `${id} ${file}${loc}`));
  return [...findings.filter(({ id, file, loc }) => !told.has(`${id} ${file}${loc}`)), ...denials];
}

const MANIFEST_INVALID = "manifest-invalid";

/** The files that the agent's user must be able to read, from configuration and manifest. */
export async function readGrantInputs(
  options: FolderOptions,
  { machine, environment }: { readonly machine: Machine; readonly environment: FolderEnvironment },
): Promise<
  { readonly paths: readonly string[]; readonly keyFile: string | null; readonly stateDirectory: string } | Problem
> {
  const { configPath, stateDirectory } = resolveFolders(options, environment);
  const configuration = await readConfigurationNow(machine, configPath);
  const current = configuration.reading.value;
  if (current === null) return invalidConfiguration(configuration);
  const manifest = await readManifestNow(machine, current.manifest);
  const robot = manifest.reading.value;
  if (robot === null) return { code: MANIFEST_INVALID, ...firstError(manifest) };
  const { files, finding } = await filesNow(machine.files, current, robot);
  if (finding !== null) return { code: MANIFEST_INVALID, ...firstError(manifest, locate(manifest, finding)) };
  const { ca_file: caFile, key_file: keyFile } = current.service;
  const own = [configPath, manifest.path, ...(caFile === null ? [] : [caFile])];
  // Nobody opens devices.
  const opened = files.filter(({ hardware }) => hardware === undefined);
  return { paths: [...own, ...opened.map(({ path }) => path)], keyFile, stateDirectory };
}

/** The key as the agent's user sees it. */
export type KeyLook =
  | Credential
  | CredentialProblem
  /** This user cannot read the key, which is expected. */
  | { readonly kind: "closed"; readonly where: string };

/**
 * Checks the credential on behalf of the agent: the robot's own where it has one, else the API key, the owner of its file, and whether the
 * agent's user can read it.
 */
export async function lookAtKey(
  { machine, environment, userId }: Pick<CommandContext, "machine" | "environment" | "userId">,
  folders: Pick<Folders, "credentialsDirectory" | "stateDirectory">,
  service: ServiceConfiguration,
  agentUser: AgentUser,
): Promise<KeyLook> {
  const own = await lookAtOwn(service, machine, folders.stateDirectory);
  if (own !== null) return own;
  const { account, probe, relation, unit } = agentUser;
  const found = await loadCredential(
    {
      credentialsDirectory: folders.credentialsDirectory ?? credentialsOfUnit(folders, agentUser) ?? undefined,
      keyFile: service.key_file ?? undefined,
      environmentKey: environment[KEY_VARIABLE],
      serviceUserId: account?.userId ?? userId,
      serviceUserName: account?.name,
    },
    machine.files,
  );
  if (found.kind === "credential-problem") {
    return relation === "other" && found.code === "key-unreadable" ? { kind: "closed", where: found.where } : found;
  }
  const isForSystemd = unit.kind === "unit" && unit.unit.credentialPaths.includes(found.where);
  if (found.source !== "key-file" || relation !== "root" || probe === null || isForSystemd) return found;
  const accesses = await explainAccess(probe, [found.where]);
  if (accesses.get(found.where)?.kind !== "blocked") return found;
  const owner = account?.name === undefined || account.name === "" ? String(account?.userId) : account.name;
  return {
    kind: "credential-problem",
    code: "key-unreadable",
    what: `user ${owner}, as which the agent runs, may not read the key file`,
    where: found.where,
    fix: `chown ${owner} ${shellWord(found.where)}`,
  };
}

async function lookAtOwn(
  service: ServiceConfiguration,
  machine: CommandContext["machine"],
  stateDirectory: string,
): Promise<KeyLook | null> {
  try {
    return await storedCredential(service, machine, stateDirectory);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    // A user who may not look into the state directory cannot know whether the robot has one.
    const where = identityCredentialPath(stateDirectory);
    const exists = await machine.files.linkStat(where).then(
      () => true,
      () => service.identity === "enrolled",
    );
    return exists ? { kind: "closed", where } : null;
  }
}

/** The credentials directory of the running unit (systemd.exec(5), `$CREDENTIALS_DIRECTORY`), readable by root and the agent's user. */
export function credentialsOfUnit(folders: Pick<Folders, "stateDirectory">, { unit }: AgentUser): string | null {
  const isRunning = unit.kind === "unit" && unit.unit.activeState === "active";
  return isRunning && hasStandardState(folders) ? `/run/credentials/${SERVICE_NAME}.service` : null;
}
