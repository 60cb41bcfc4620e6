import { dirname, join } from "node:path";

import { lerobotUnit } from "../../manifest/catalog/hints.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import { isError } from "../../documents/findings.ts";
import { readCaFile } from "../../client/transport/certificates.ts";
import { EXIT, type Terminal } from "../../platform/terminal.ts";
import { accessFindings, type KeyLook, lookAtKey, withDenials } from "../access/check-access.ts";
import { type AgentUser, findAgentUser } from "../access/agent-user.ts";
import { resolveFolders } from "../configuration/folders.ts";
import { MANIFEST_NAME } from "../configuration/keys.ts";
import { readManifestNow } from "../configuration/documents.ts";
import { documentFindings, locate, type LocatedFinding } from "../findings.ts";
import { collectSettled, type OneShot, openOneShot } from "../one-shot.ts";
import { checkCommonName } from "../robot-setup.ts";
import type { Command, CommonOptions } from "./context.ts";
import { hashProgress, refuseFindings, showFindings, showProblem } from "./show.ts";

export interface CheckOptions extends CommonOptions {
  /** Warnings fail too. */
  readonly strict?: boolean;
}

const NOTHING_VALID = { valid: false, findings: [], request: null };

/** `check`: reports all errors of configuration, manifest and files at once. Uses no network and writes nothing. */
export const check: Command<CheckOptions> = async (options, context) => {
  const { machine, terminal } = context;
  const folders = resolveFolders(options, context.environment);
  const opened = await openOneShot({ machine, folders, state: "unread", onProgress: hashProgress(terminal) });
  if (opened.kind === "problem") {
    return showProblem(opened.problem, NOTHING_VALID, options, terminal);
  }
  if (opened.kind === "invalid") {
    // The configuration does not tell the path of the manifest; most installations have it in the same folder.
    const manifest = await readManifestNow(machine, join(dirname(opened.configuration.path), MANIFEST_NAME));
    const nearby = documentFindings(manifest).filter(({ id }) => id !== "file_missing");
    return refuseFindings([...documentFindings(opened.configuration), ...nearby], NOTHING_VALID, options, context);
  }
  const { oneShot } = opened;
  const { wanted } = await collectSettled(oneShot, context.signal);
  const agentUser = await findAgentUser(context, folders);
  const denials = await accessFindings(folders, oneShot.collector, agentUser);
  const key = await lookAtKey(context, folders, oneShot.collector.configuration.service, agentUser);
  const findings = [
    ...withDenials([...oneShot.collector.findings, ...(await authorityFindings(oneShot))], denials),
    ...nameFindings(oneShot),
    ...keyFindings(key, oneShot),
  ];
  const isValid = !findings.some(isError) && !(options.strict === true && findings.length > 0);
  const request = wanted.kind === "body" ? wanted.body : null;
  if (options.json === true) {
    terminal.json({ valid: isValid, findings, request, checked_as: checkedAs(agentUser, context.userId) });
  } else {
    await showFindings(findings, context);
    for (const note of notesOn(agentUser, key, context.userId)) terminal.note(note);
    if (request !== null) noteUnit(oneShot.collector.manifest, terminal);
    if (isValid)
      terminal.print(
        `${terminal.style("good", "ok")} ${oneShot.collector.robotName}: ${request?.configuration_digest ?? "draft, not registered"}`,
      );
  }
  return isValid ? EXIT.ok : EXIT.invalid;
};

/** A warning only, because the names of other computers are unknown here. */
function nameFindings({ machine, collector }: OneShot): readonly LocatedFinding[] {
  const finding = checkCommonName(collector.configuration, machine.identity.hostname());
  if (finding === null) return [];
  return [locate(collector.documents.configuration, { ...finding, severity: "warning" })];
}

/** An error when `ca_file` cannot be used, because every request would fail. */
async function authorityFindings({ machine, collector }: OneShot): Promise<readonly LocatedFinding[]> {
  const { ca_file: caFile } = collector.configuration.service;
  const read = caFile === null ? null : await readCaFile(machine.files, caFile);
  if (read?.kind !== "ca-problem") return [];
  const id = read.code === "CA_FILE_UNREADABLE" ? "file_unreadable" : read.code.toLowerCase();
  return [locate(collector.documents.configuration, { id, loc: "/service/ca_file", message: read.what })];
}

/** A missing key is a warning, because it may be installed later; an unusable key is an error. */
function keyFindings(key: KeyLook, { collector }: OneShot): readonly LocatedFinding[] {
  if (key.kind !== "credential-problem") return [];
  const { code, what, where, fix } = key;
  const loc = collector.configuration.service.key_file === null ? "/service" : "/service/key_file";
  const message = `${what} (${where}); ${fix}`;
  const severity = code === "key-missing" || code === "not-enrolled" ? "warning" : "error";
  return [locate(collector.documents.configuration, { id: code.replaceAll("-", "_"), severity, loc, message })];
}

/** A type of the catalog has one unit; LeRobot has had two. */
function noteUnit(manifest: RobotManifest | null, terminal: Terminal): void {
  const from = manifest?.unit_from ?? null;
  const units = from === null ? null : lerobotUnit(from);
  if (units === null) return;
  const instead =
    manifest?.form === "by-id"
      ? `see robot-policy-agent init --type ${from} --unit calibrated_range`
      : "write unit: calibrated_range in each arm's group of the manifest; unit: deg there ends this note";
  terminal.note(`Joints of ${from} are in ${units.deg}. For ${units.calibrated_range}, ${instead}`);
}

/** Says for which user read access was checked. */
function checkedAs({ probe, account }: AgentUser, userId: number) {
  if (account === null || probe === null) return { user_id: userId, is_agent: false };
  return { user_id: account.userId, is_agent: true };
}

function notesOn({ relation, probe, name: agentName }: AgentUser, key: KeyLook, userId: number): readonly string[] {
  switch (relation) {
    case "same":
      return [];
    case "root":
      if (probe !== null) return [];
      return [`/proc is not mounted: read access of ${agentName} was not checked.`];
    case "absent":
      return [`There is no user ${agentName} yet: read access was checked only for user ${userId}.`];
    case "other": {
      const closed = key.kind === "closed" ? `, who cannot read the key (${key.where})` : "";
      return [
        `Checked as user ${userId}${closed}. To check read access of the agent (${agentName}): sudo robot-policy-agent check`,
      ];
    }
  }
}
