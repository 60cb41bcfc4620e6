import { beyondSpec, operations } from "../../api/api.ts";
import { ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "../../api/robots.ts";
import { configurationDigest } from "../../look/digest.ts";
import { isPattern } from "../../look/patterns.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import { defined } from "../../platform/defined.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { isEnrolled } from "../../views/robots.ts";
import { flagPlaces, type Places } from "../body.ts";
import { confirmationPrompt, makeChange, refusedBy } from "../change.ts";
import type { OperatorContext } from "../context.ts";
import { isNothingNamed, isUnknownOperation } from "../failure.ts";
import { CHANGE, formed, type Given, labels, onOff, text, texts } from "../flags.ts";
import { refuse, refuseIncomplete, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import { findRegistered, type RegisteredRobot } from "./find.ts";
import {
  carryOver,
  changeLines,
  type GivenRegistration,
  keptText,
  readRegistrationFile,
  type RegistrationBody,
  type WrittenRegistration,
} from "./registration.ts";
import { registrationMistake, warnOfRegion, warnOfType } from "./registration-checks.ts";

export const SETUP = {
  from: text("<file>", "YAML file with these values, or - for stdin; flags take precedence"),
  name: text("<name>", "unique, stable name of the robot", { place: "name" }),
  type: text("<type>", "robot type id", { names: "catalog", place: "robot_type_id" }),
  region: text("<region>", "cloud region nearest to the robot", { names: "regions", place: "region" }),
  site: text("<site>", "site of the robot", { names: "sites", place: "site" }),
  clearSite: onOff("remove its site", { excludes: ["--site"] }),
  label: labels("label of the robot; repeatable, together they replace its labels", { place: "labels" }),
  clearLabels: onOff("remove its labels", { excludes: ["--label"] }),
  file: texts("<file>", "configuration file to compute the digest from; repeatable, in digest order"),
  configurationDigest: formed(
    "<digest>",
    "digest of the configuration files, as robot-policy-agent digest prints it",
    readDigest,
    { excludes: ["--file"], place: "configuration_digest" },
  ),
  manifest: text("<file>", "robot manifest with its type, configuration files and contract"),
  replace: text("<robot>", "replace the enrolled computer of this robot, also if it is online", { names: "robots" }),
  ...CHANGE,
};

type SetupFlags = Given<typeof SETUP>;

function readDigest(written: string) {
  if (CONFIGURATION_DIGEST_PATTERN.test(written)) return { value: written };
  return { isNo: "is not a digest", fix: "it is sha256: and 64 digits from 0 to f, as the agent's digest prints it" };
}

/**
 * Registers a robot without an agent. Each member comes from a flag, else from the registration file; type, files and contract else from the
 * robot manifest. A registered robot keeps what is not given, its digest too, and the operator confirms what changes. An enrolled robot
 * registers itself: without `--replace` it is left alone, because its computer would lose its credential.
 */
export async function setUpRobot(service: Service, flags: SetupFlags): Promise<ExitCode> {
  const { terminal, context } = service;
  const json = service.flags.json === true;
  const file = flags.from === undefined ? null : await readRegistrationFile(flags.from, SETUP, json, context);
  if (file?.kind === "unusable") return file.exitCode;
  const read = flags.manifest === undefined ? null : await readManifest(flags.manifest, json, context);
  if (typeof read === "number") return read;
  const manifest = read?.manifest ?? null;
  const fromFlags = defined({
    name: flags.name,
    robot_type_id: flags.type,
    region: flags.region,
    site: flags.site,
    labels: flags.label,
    configuration_digest: flags.configurationDigest,
    configurationFiles: flags.file,
  });
  const written: WrittenRegistration = {
    ...defined({ robot_type_id: manifest?.robot_type_id }),
    ...file?.value,
    ...fromFlags,
  };
  const { name } = written;
  if (name === undefined) return refuseMissing(written, flags, terminal);
  if (flags.replace !== undefined && flags.replace !== name) {
    const what = `--replace names ${flags.replace}, but the registration is for the robot ${name}`;
    return refuseUsage(what, "give the same name, or leave it out", terminal);
  }
  const digest = await digestOf(fromFlags, file?.value ?? {}, manifest, context);
  if (typeof digest === "number") return digest;
  const given: GivenRegistration = {
    name,
    ...defined({
      site: flags.clearSite === true ? undefined : written.site,
      robot_type_id: written.robot_type_id,
      region: written.region,
      configuration_digest: digest ?? undefined,
      labels: flags.clearLabels === true ? undefined : written.labels,
      contract: manifest?.contract ?? undefined,
    }),
  };
  const ofFlags = flagPlaces(SETUP, {
    configuration_digest: "--file",
    contract: "--manifest",
    confirm_replace: "--replace",
  });
  const places: Places = (loc) => {
    const member = String(loc[1]);
    if (Object.hasOwn(fromFlags, member)) return ofFlags(loc);
    if (file !== null && Object.hasOwn(file.value, member)) return file.places(loc);
    return read?.places(loc) ?? ofFlags(loc);
  };
  const mistake = registrationMistake(given);
  if (mistake !== null) {
    // Do not repeat the value: it may be a URL with a password.
    const { member, message } = mistake;
    const what = `${places(["body", member]) ?? member}: ${message}`;
    terminal.problem({ code: "usage", what, fix: "every operator can read what is registered; correct it" });
    return Object.hasOwn(fromFlags, member) ? EXIT.usage : EXIT.invalid;
  }
  const before = await findRegistered(service, name);
  if (typeof before === "number") return before;
  const known = before === "hidden" ? null : before;
  const isReplacing = known === null ? false : await isEnrolledNow(service, name, known);
  if (typeof isReplacing === "number") return isReplacing;
  if (isReplacing && flags.replace === undefined) return refuseEnrolled(name, terminal);
  const registration = known === null ? given : carryOver(given, known, flags);
  const { robot_type_id: robotTypeId, region } = registration;
  if (robotTypeId === undefined || region === undefined) return refuseMissing(registration, flags, terminal);
  if (before !== null && registration.configuration_digest === undefined) return refuseUnknownDigest(name, terminal);
  if (before === null && digest === null) terminal.note(NO_FILES);
  const body: RegistrationBody = {
    ...registration,
    robot_type_id: robotTypeId,
    region,
    configuration_digest: registration.configuration_digest ?? configurationDigest([]),
    ...defined({ confirm_replace: flags.replace === undefined ? undefined : true }),
  };
  if (before === "hidden") terminal.note(HIDDEN);
  if (known?.robot_type_id !== robotTypeId) warnOfType(body, terminal);
  if (known?.region !== region) await warnOfRegion(service, region, terminal);
  if (known !== null && flags.dryRun !== true) {
    const refused = await refusedChange(service, { given, body, before: known, isReplacing });
    if (refused !== null) return refused;
  }
  return makeChange(service, {
    row: operations.setupRobot,
    input: { body },
    places,
    show: ({ robot }) => terminal.print(`${robot.name} is registered (${robot.id}) with ${body.configuration_digest}.`),
  });
}

/** Loaded here, because no other command reads manifests. */
async function readManifest(path: string, json: boolean, context: OperatorContext) {
  const { readManifestFile } = await import("./manifest-file.ts");
  return readManifestFile(path, json, context);
}

const NO_FILES = "No configuration files: the digest covers nothing. --file names them.";

const HIDDEN = `This credential may not see robots. If the robot is registered already, it loses its ${ROBOT_TEXT_NAMES.join(", its ")}, labels and contract unless you give them again.`;

interface Change {
  readonly given: GivenRegistration;
  readonly body: RegistrationBody;
  readonly before: RegisteredRobot;
  /** A computer is enrolled as the robot, and this registration takes its place. */
  readonly isReplacing: boolean;
}

/** Whether a computer is enrolled as the robot; an exit code after reporting that the service does not answer. */
async function isEnrolledNow(service: Service, name: string, known: RegisteredRobot): Promise<boolean | ExitCode> {
  const result = await service.call(beyondSpec.getRobot, { parameters: { robot: name } });
  if (result.kind === "ok") return isEnrolled(result.value.value);
  if (isUnknownOperation(result)) return (known.installation_id ?? null) !== null;
  // Such a credential replaces no computer: the service refuses that without robots:write.
  if (result.kind === "refused" && result.status === 403) return false;
  return isNothingNamed(result) ? false : service.failed(result);
}

function refuseEnrolled(name: string, terminal: Terminal): ExitCode {
  const what = `a computer is enrolled as ${name} and registers it; this would end its credential`;
  const fix = `change the configuration on that computer; or replace it: --replace ${shellWord(name)}`;
  return refuse({ code: "robot-enrolled", what, fix }, EXIT.conflict, terminal);
}

/** Whatever the digest is, that of nothing would take its place. */
function refuseUnknownDigest(name: string, terminal: Terminal): ExitCode {
  const what = `this service does not show the configuration digest of ${name}, which would be lost`;
  const fix = "give the files with --file, or --configuration-digest";
  return refuse({ code: "digest-unknown", what, fix }, EXIT.usage, terminal);
}

/** Shows what changes of a registered robot. Null where the operator agrees, or is not asked. */
async function refusedChange(service: Service, { given, body, before, isReplacing }: Change): Promise<ExitCode | null> {
  const { terminal } = service;
  const changes = changeLines(body, before);
  if (isReplacing)
    terminal.note(`The computer that is enrolled as ${body.name} loses its credential and must enroll again.`);
  if (changes.length === 0 && !isReplacing) return null;
  if (changes.length > 0) terminal.note(`${body.name} is registered already. This changes it:`);
  for (const change of changes) terminal.note(`  ${change}`);
  const kept = keptText(given, body);
  if (kept !== "") terminal.note(`It keeps what is not given again: ${kept}.`);
  const prompt = confirmationPrompt(service);
  return prompt === null ? null : refusedBy(prompt, "Change it?", terminal);
}

function refuseMissing(
  { name, robot_type_id: robotTypeId, region }: WrittenRegistration,
  { from }: SetupFlags,
  terminal: Terminal,
): ExitCode {
  const members = [
    ["name", "--name", name],
    ["robot_type_id", "--type or --manifest", robotTypeId],
    ["region", "--region", region],
  ] as const;
  return refuseIncomplete("robot", from, members, terminal);
}

/** The given digest, or that of the files: from flags, else from the registration file, else from the manifest. Null where none has any. */
async function digestOf(
  flags: WrittenRegistration,
  file: WrittenRegistration,
  manifest: RobotManifest | null,
  context: OperatorContext,
): Promise<string | ExitCode | null> {
  const says = (source: WrittenRegistration) =>
    source.configuration_digest !== undefined || source.configurationFiles !== undefined;
  const source = says(flags) ? flags : file;
  if (source.configuration_digest !== undefined) return source.configuration_digest;
  const ofManifest = says(source) ? [] : (manifest?.configuration_files ?? []);
  const ofRobot = ofManifest.find(
    ({ path, hardware }) => path.startsWith("~/") || isPattern(path) || hardware !== undefined,
  );
  const { terminal } = context;
  if (ofRobot !== undefined) {
    const { path, hardware } = ofRobot;
    const what = `the manifest lists ${path}, and only the robot knows what that is`;
    const fix =
      hardware === undefined
        ? "give the files with --file, in the order of the manifest"
        : "register on the robot: sudo robot-policy-agent --setup";
    return refuse({ code: "home_missing", what, fix }, EXIT.invalid, terminal);
  }
  const files = source.configurationFiles ?? ofManifest.map(({ path }) => path);
  if (files.length === 0 && source.configurationFiles === undefined) return null;
  const { hashFiles } = await import("./hash-files.ts");
  const snapshot = await hashFiles(files, context);
  return typeof snapshot === "number" ? snapshot : snapshot.digest;
}
