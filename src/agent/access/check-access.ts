import { explainAccess } from "../../access/access.ts";
import { SERVICE_NAME } from "../../access/unit.ts";
import type { Credential, CredentialProblem } from "../../client/credentials.ts";
import { loadCredential } from "../../client/credentials.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { Collector } from "../collector.ts";
import type { CommandContext } from "../commands/context.ts";
import type { Folders } from "../configuration/folders.ts";
import { hasStandardState } from "../configuration/folders.ts";
import type { Document, LocatedFinding } from "../findings.ts";
import { locate } from "../findings.ts";
import { configurationFiles } from "../robot-setup.ts";
import type { Vantage } from "./vantage.ts";
import { explainDenial } from "./vantage.ts";

/** The files that the agent's user must read but cannot, each at the line that names it. Checks only modes and access lists. */
export async function accessFindings(
  { machine }: CommandContext,
  folders: Pick<Folders, "config_path">,
  collector: Collector,
  vantage: Vantage,
): Promise<readonly LocatedFinding[]> {
  const { judge } = vantage;
  if (judge === null) return [];
  const { configuration, manifest } = collector.documents;
  const { ca_file: caFile } = collector.configuration.service;
  const authority: readonly Place[] =
    caFile === null ? [] : [{ path: caFile, document: configuration, loc: "/service/ca_file", granted: "told" }];
  const listed = listedFiles(collector).map(({ path, loc }): Place => ({
    path,
    document: manifest,
    loc,
    granted: "listed",
  }));
  const places: readonly Place[] = [
    { path: folders.config_path, document: configuration, loc: "", granted: "told" },
    { path: manifest.path, document: manifest, loc: "", granted: "told" },
    ...authority,
    ...listed,
  ];
  const accesses = await explainAccess(
    machine.files,
    judge,
    places.map(({ path }) => path),
  );
  return places.flatMap(({ path, document, loc, granted }) => {
    const denial = explainDenial(path, accesses.get(path), vantage, granted);
    if (denial === null) return [];
    return [locate(document, { id: "file_unreadable", loc, message: `${denial.what}; ${denial.remedy}` })];
  });
}

/** A file, and where the configuration or manifest names it. */
interface Place {
  readonly path: string;
  readonly document: Document;
  readonly loc: string;
  readonly granted: "listed" | "told";
}

/** Drops the findings that `denials` already report in more detail. */
export function withoutRepeats(
  findings: readonly LocatedFinding[],
  denials: readonly LocatedFinding[],
): readonly LocatedFinding[] {
  const told = new Set(denials.map(({ id, file, loc }) => `${id} ${file}${loc}`));
  return findings.filter(({ id, file, loc }) => !told.has(`${id} ${file}${loc}`));
}

function listedFiles({
  configuration,
  manifest,
}: Collector): readonly { readonly path: string; readonly loc: string }[] {
  if (manifest === null) return [];
  const resolved = configurationFiles(configuration, manifest);
  if (resolved.kind === "finding") return [];
  return resolved.files.map(({ path }, index) => ({ path, loc: manifest.configuration_files[index]?.loc ?? "" }));
}

/** The key as the agent's user sees it. */
export type KeyLook =
  | Credential
  | CredentialProblem
  /** This user cannot read the key, which is expected. */
  | { readonly kind: "closed"; readonly where: string };

/** Checks the key on behalf of the agent: the owner of the file, and whether the agent's user can read it. */
export async function lookAtKey(
  { machine, environment, user_id: userId }: Pick<CommandContext, "machine" | "environment" | "user_id">,
  folders: Pick<Folders, "credentialsDirectory" | "state_directory">,
  keyFile: string | null,
  vantage: Vantage,
): Promise<KeyLook> {
  const { account, judge, standing, unit } = vantage;
  const found = await loadCredential(
    {
      credentialsDirectory: folders.credentialsDirectory ?? credentialsOfUnit(folders, vantage) ?? undefined,
      keyFile: keyFile ?? undefined,
      environmentKey: environment["ROBOT_POLICY_API_KEY"],
      serviceUserId: account?.user_id ?? userId,
      serviceUserName: account?.name,
    },
    machine.files,
  );
  if (found.kind === "credential-problem") {
    return standing === "stranger" && found.code === "key-unreadable" ? { kind: "closed", where: found.where } : found;
  }
  const isForSystemd = unit.kind === "unit" && unit.unit.credentialPaths.includes(found.where);
  if (found.source !== "key-file" || standing !== "root" || judge === null || isForSystemd) return found;
  const rights = await judge.byPath([found.where]);
  if (rights.get(found.where)?.reads !== false) return found;
  const owner = account?.name === undefined || account.name === "" ? String(account?.user_id) : account.name;
  return {
    kind: "credential-problem",
    code: "key-unreadable",
    what: `user ${owner}, as which the agent runs, may not read the key file`,
    where: found.where,
    fix: `chown ${owner} ${shellWord(found.where)}`,
  };
}

/** The credentials directory of the running unit (systemd.exec(5), `$CREDENTIALS_DIRECTORY`), readable by root and the agent's user. */
export function credentialsOfUnit(folders: Pick<Folders, "state_directory">, { unit }: Vantage): string | null {
  const isRunning = unit.kind === "unit" && unit.unit.active_state === "active";
  return isRunning && hasStandardState(folders) ? `/run/credentials/${SERVICE_NAME}.service` : null;
}
