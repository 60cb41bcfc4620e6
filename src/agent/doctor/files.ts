import { explainAccess } from "../../access/access.ts";
import { deviceFinding, unsuitable, systemErrorFinding } from "../../look/findings.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Machine } from "../../platform/machine.ts";
import { EXIT } from "../../platform/terminal.ts";
import { type AgentUser, type Denial, explainDenial } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { readConfigurationNow, readManifestNow } from "../configuration/documents.ts";
import { documentFindings, locate, type LocatedFinding } from "../findings.ts";
import { findStaleCalibrations } from "../init/detect/younger.ts";
import { examineDevices } from "../listed-devices.ts";
import { checkName, filesNow, listedFiles } from "../robot-setup.ts";
import { combine, fail, type Found, ok, skip, type Subject, type Verdict, warn } from "./check.ts";
import { isError } from "../../documents/findings.ts";

const ALL_FINDINGS = "show all findings: robot-policy-agent check";

/** Checks that the configuration is valid, that the agent can read it and its certificates, and that this user can check that. */
export async function checkConfiguration(subject: Subject): Promise<Found<AgentConfiguration>> {
  const { agentUser, folders, context } = subject;
  const { machine } = context;
  const document = await readConfigurationNow(machine, folders.configPath);
  const findings = documentFindings(document);
  const configuration = document.reading.value;
  if (configuration === null) return judgeFindings(findings, "");
  const hostname = machine.identity.hostname();
  const name = checkName(configuration, { hostname, machine: await machine.identity.machine() });
  const all = name === null ? findings : [...findings, locate(document, name)];
  const { ca_file: caFile } = configuration.service;
  const denied = await judgeAccess([folders.configPath, ...(caFile === null ? [] : [caFile])], agentUser);
  const verdict = denied ?? judgeFindings(all, folders.configPath);
  if (agentUser.relation !== "other") return { ...verdict, value: configuration };
  const who = `user ${context.userId}, but the agent runs as ${agentUser.name}: some checks are not possible`;
  return { ...combine([verdict, warn(who, "sudo robot-policy-agent doctor")]), value: configuration };
}

export async function checkManifest(
  { agentUser, context: { machine } }: Subject,
  configuration: AgentConfiguration,
): Promise<Found<RobotManifest>> {
  const document = await readManifestNow(machine, configuration.manifest);
  const manifest = document.reading.value;
  const what = `${configuration.manifest}: ${manifest?.robot_type_id ?? ""}`;
  if (manifest?.status === "draft")
    return { ...warn(`${what}: a draft is not registered`, "set status: ready"), value: manifest };
  const denied = manifest === null ? null : await judgeAccess([configuration.manifest], agentUser);
  return { ...(denied ?? judgeFindings(documentFindings(document), what)), value: manifest };
}

/** @returns null when nothing is known to prevent the agent from reading these files. */
async function judgeAccess(paths: readonly string[], agentUser: AgentUser): Promise<Verdict | null> {
  const { probe } = agentUser;
  const accesses = probe === null ? new Map() : await explainAccess(probe, paths);
  for (const path of paths) {
    const denial = explainDenial(path, accesses.get(path), agentUser);
    if (denial !== null) return fail(EXIT.invalid, denial.what, denial.remedy);
  }
  return null;
}

/** The most severe finding, with the number of others. */
function judgeFindings(findings: readonly LocatedFinding[], fine: string): Verdict {
  const worst = findings.find(isError) ?? findings[0];
  if (worst === undefined) return ok(fine);
  const more = findings.length === 1 ? "" : ` (and ${findings.length - 1} more)`;
  const what = `${worst.file}:${worst.line}:${worst.column}: ${worst.message}${more}`;
  return isError(worst) ? fail(EXIT.invalid, what, ALL_FINDINGS) : warn(what, ALL_FINDINGS);
}

/** Checks that every configuration file exists, is a regular file, and can be read by the agent. Does not read them, as `check` does. */
export async function checkFiles(
  { context, agentUser }: Subject,
  configuration: AgentConfiguration,
  manifest: RobotManifest,
): Promise<Verdict> {
  const { files: listed, findings, finding } = await filesNow(context.machine.files, configuration, manifest);
  if (finding !== null) return fail(EXIT.invalid, finding.message, ALL_FINDINGS);
  const [unmatched] = findings.map(({ message }) => split(message));
  if (unmatched !== undefined) return fail(EXIT.invalid, unmatched.what, unmatched.remedy);
  const ofFiles = listed.filter(({ hardware }) => hardware === undefined);
  const paths = ofFiles.map(({ path }) => path);
  const { probe, relation, name: agentName } = agentUser;
  const accesses = probe === null ? new Map() : await explainAccess(probe, paths);
  const limitBytes = configuration.watch.file_limit_bytes;
  const looks = await Promise.all(
    paths.map(
      async (path) => explainDenial(path, accesses.get(path), agentUser) ?? examineFile(context, path, limitBytes),
    ),
  );
  const hidden = looks.filter((look) => look === "hidden");
  const bad = looks.filter((look) => look !== null && look !== "hidden");
  const [first] = bad;
  if (first !== undefined)
    return fail(EXIT.invalid, `${bad.length} of ${paths.length} cannot be used: ${first.what}`, first.remedy);
  if (hidden.length > 0 && relation === "other")
    return skip(
      `${hidden.length} of ${paths.length} cannot be accessed by user ${context.userId}; perhaps by the agent`,
    );
  const { machine, signal } = context;
  const { files, clock } = machine;
  const [stale] = await findStaleCalibrations(paths, { files, clock, signal, homes: [] });
  if (stale !== undefined) return warn(stale.message, `if the robot uses it, list it in place of ${stale.path}`);
  const reader = probe === null || relation === "absent" ? `user ${context.userId}` : agentName;
  const patterns = Map.groupBy(ofFiles, ({ pattern }) => pattern);
  const matched = [...patterns].flatMap(([pattern, { length }]) =>
    pattern === undefined ? [] : [`, ${pattern}: ${length}`],
  );
  return ok(`${paths.length} of ${paths.length} can be read by ${reader}${matched.join("")}`);
}

/** Checks that every listed device is there, and can be told from others. */
export async function checkDevices(
  machine: Pick<Machine, "files" | "clock">,
  configuration: AgentConfiguration,
  manifest: RobotManifest,
  signal: AbortSignal,
): Promise<Verdict> {
  const { files } = listedFiles(configuration, manifest);
  const { present, absent, twins } = await examineDevices(files, machine, signal);
  const missing = await Promise.all(absent.map(({ path, code }) => deviceFinding(machine.files, path, code)));
  const there = `${present} of ${present + absent.length} are there`;
  const troubles = [
    ...missing.map(({ message }) => split(message)).map(({ what, remedy }) => fail(EXIT.invalid, what, remedy)),
    ...twins.map(({ message }) => split(message)).map(({ what, remedy }) => warn(what, remedy)),
  ];
  const verdict = combine([...troubles, ok(there)]);
  return troubles.length === 0 ? verdict : { ...verdict, what: `${there}; ${verdict.what}` };
}

/** @returns `hidden` when this process has no access. */
async function examineFile(
  { machine: { files } }: CommandContext,
  path: string,
  limitBytes: number,
): Promise<Denial | "hidden" | null> {
  try {
    const trouble = unsuitable(path, await files.stat(path), limitBytes);
    if (trouble !== undefined) return split(trouble.message);
    await (await files.openForReading(path)).close();
    return null;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return code === "EACCES" ? "hidden" : split((await systemErrorFinding(files, path, code)).message);
  }
}

/** Messages of look/findings.ts have the form `what; remedy`. */
function split(message: string): Denial {
  const [what = "", ...remedy] = message.split("; ");
  const fallback = "correct the file, or its path in the manifest";
  return { what, remedy: remedy.length === 0 ? fallback : remedy.join("; ") };
}
