import { dirname, join } from "node:path";

import { lerobotUnit } from "../../manifest/catalog/ids.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import { isError } from "../../documents/findings.ts";
import { readCaFile } from "../../client/transport/certificates.ts";
import { EXIT, type Terminal } from "../../platform/terminal.ts";
import { accessFindings, type KeyLook, lookAtKey, withDenials } from "../access/check-access.ts";
import { type AgentUser, findAgentUser } from "../access/agent-user.ts";
import { resolveFolders } from "../configuration/folders.ts";
import { MANIFEST_NAME } from "../configuration/keys.ts";
import { readManifestNow } from "../configuration/documents.ts";
import { documentFindings, locate, type LocatedFinding, type PlainFinding } from "../findings.ts";
import { findStaleCalibrations } from "../init/detect/younger.ts";
import { examineDevices } from "../listed-devices.ts";
import { readShared } from "../registration/parts.ts";
import { collectSettled, type OneShot, openOneShot } from "../one-shot.ts";
import { checkCommonName, filesNow, listedFiles } from "../robot-setup.ts";
import type { Command, CommonOptions } from "./context.ts";
import { hashProgress, refuseFindings, showFindings, showProblem } from "./show.ts";

export interface CheckOptions extends CommonOptions {
  /** Warnings fail too. */
  readonly strict?: boolean;
}

const NOTHING_VALID = { valid: false, findings: [], request: null, shared: [] };

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
  const denials = await accessFindings(folders, oneShot, agentUser);
  const key = await lookAtKey(context, folders, oneShot.collector.configuration.service, agentUser);
  const found = [
    ...oneShot.collector.findings,
    ...(await otherFindings(oneShot, key)),
    ...(await staleFindings(oneShot, context.signal)),
    ...(await twinFindings(oneShot, context.signal)),
    ...(await sharedFindings(oneShot)),
  ];
  const findings = withDenials(found, denials);
  const isValid = !findings.some(isError) && !(options.strict === true && findings.length > 0);
  const request = wanted.kind === "body" ? wanted.body : null;
  const shared = (oneShot.collector.manifest?.configuration_files ?? [])
    .filter(({ share }) => share === true)
    .map(({ label }) => label);
  if (options.json === true) {
    const { account, probe } = agentUser;
    const isAgent = account !== null && probe !== null;
    const checkedAs = { user_id: isAgent ? account.userId : context.userId, is_agent: isAgent };
    terminal.json({ valid: isValid, findings, request, shared, checked_as: checkedAs });
  } else {
    await showFindings(findings, context);
    for (const note of notesOn(agentUser, key, context.userId)) terminal.note(note);
    if (shared.length > 0) terminal.note(`Shared with the service, in full: ${shared.join(", ")}`);
    if (request !== null) noteUnit(oneShot.collector.manifest, terminal);
    if (isValid)
      terminal.print(
        `${terminal.style("good", "ok")} ${oneShot.collector.robotName}: ${request?.configuration_digest ?? "draft, not registered"}`,
      );
  }
  return isValid ? EXIT.ok : EXIT.invalid;
};

/** Warnings of calibrations that the robot's software may not use any more. */
async function staleFindings(
  { machine: { files, clock }, collector }: OneShot,
  signal: AbortSignal,
): Promise<readonly LocatedFinding[]> {
  const { manifest, documents } = collector;
  const { files: listed } = await filesNow(files, collector.configuration, manifest);
  const paths = listed.map(({ path }) => path);
  const stale = await findStaleCalibrations(paths, { files, clock, signal, homes: [] });
  return stale.map(({ path, message }) => {
    const entry = listed.find((file) => file.path === path)?.entry ?? 0;
    const loc = manifest?.configuration_files[entry]?.loc ?? "/configuration_files";
    return locate(documents.manifest, { id: "calibration_stale", severity: "warning", loc, message });
  });
}

/** Warnings of listed devices that cannot be told from others, or only by their port. */
async function twinFindings({ machine, collector }: OneShot, signal: AbortSignal): Promise<readonly LocatedFinding[]> {
  const { files: listed } = listedFiles(collector.configuration, collector.manifest);
  const { twins } = await examineDevices(listed, machine, signal);
  return twins.map(({ kind, names: [name], message }) => {
    const entry = listed.find(({ path }) => path === name)?.entry ?? 0;
    const loc = collector.manifest?.configuration_files[entry]?.loc ?? "/configuration_files";
    const id = kind === "shared-serial" ? "device_twins" : "device_same";
    return locate(collector.documents.manifest, { id, severity: "warning", loc, message });
  });
}

/** Warnings of files that the manifest shares and the agent would not send. */
async function sharedFindings({ machine, collector }: OneShot): Promise<readonly LocatedFinding[]> {
  const found: LocatedFinding[] = [];
  for (const file of collector.snapshot?.files ?? []) {
    if (file.share !== true) continue;
    const read = await readShared(machine.files, file);
    if (read.kind === "unsuitable") found.push(read.finding);
  }
  return found;
}

/** What is wrong with name, certificates and key. A key may be installed later, and the names of other computers are unknown here: warnings. */
async function otherFindings({ machine, collector }: OneShot, key: KeyLook): Promise<readonly LocatedFinding[]> {
  const { configuration } = collector;
  const { ca_file: caFile, key_file: keyFile } = configuration.service;
  const found: PlainFinding[] = [];
  const read = caFile === null ? null : await readCaFile(machine.files, caFile);
  if (read?.kind === "ca-problem") {
    const id = read.code === "CA_FILE_UNREADABLE" ? "file_unreadable" : read.code.toLowerCase();
    found.push({ id, loc: "/service/ca_file", message: read.what });
  }
  const name = checkCommonName(configuration, machine.identity.hostname());
  if (name !== null) found.push({ ...name, severity: "warning" });
  if (key.kind === "credential-problem") {
    const { code, what, where, fix } = key;
    const severity = code === "key-missing" || code === "not-enrolled" ? "warning" : "error";
    const loc = keyFile === null ? "/service" : "/service/key_file";
    found.push({ id: code.replaceAll("-", "_"), severity, loc, message: `${what} (${where}); ${fix}` });
  }
  return found.map((finding) => locate(collector.documents.configuration, finding));
}

/** A type of the catalog has one unit; LeRobot has had two. */
function noteUnit(manifest: RobotManifest | null, terminal: Terminal): void {
  const from = manifest?.unit_from ?? null;
  const units = from === null ? null : lerobotUnit(from);
  if (units === null) return;
  const instead =
    from === manifest?.robot_type_id
      ? `see robot-policy-agent init --type ${from} --unit calibrated_range`
      : "write unit: calibrated_range in each arm's group of the manifest; unit: deg there ends this note";
  terminal.note(`Joints of ${from} are in ${units.deg}. For ${units.calibrated_range}, ${instead}`);
}

function notesOn({ relation, name: agentName }: AgentUser, key: KeyLook, userId: number): readonly string[] {
  if (relation === "absent")
    return [`There is no user ${agentName} yet: read access was checked only for user ${userId}.`];
  if (relation !== "other") return [];
  const closed = key.kind === "closed" ? `, who cannot read the key (${key.where})` : "";
  const how = `To check read access of the agent (${agentName}): sudo robot-policy-agent check`;
  return [`Checked as user ${userId}${closed}. ${how}`];
}
