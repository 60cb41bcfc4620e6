import { beyondSpec, operations } from "../../api/api.ts";
import { ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "../../api/robots.ts";
import { configurationDigest } from "../../look/digest.ts";
import { isPattern } from "../../look/patterns.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import { defined } from "../../platform/defined.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { isEnrolled } from "../../views/robots.ts";
import { flagPlaces } from "../body.ts";
import { confirmationPrompt, makeChange, refusedBy } from "../change.ts";
import type { OperatorContext } from "../context.ts";
import { isNothingNamed, isUnknownOperation } from "../failure.ts";
import { CHANGE, formed, type Given, labels, onOff, text, texts } from "../flags.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import { findRegistered, type RegisteredRobot } from "./find.ts";
import {
  carryOver,
  changeLines,
  type GivenRegistration,
  type RegistrationBody,
  registrationMistake,
  warnOfRegion,
  warnOfType,
} from "./registration.ts";

export const SETUP = {
  name: text("<name>", "unique, stable name of the robot", { required: true, place: "name" }),
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
  ...CHANGE,
};

type SetupFlags = Given<typeof SETUP>;

function readDigest(written: string) {
  if (CONFIGURATION_DIGEST_PATTERN.test(written)) return { value: written };
  return { isNo: "is not a digest", fix: "it is sha256: and 64 digits from 0 to f, as the agent's digest prints it" };
}

/**
 * Registers a robot without an agent. Type, files and contract come from the flags, else from the robot manifest. A registered robot keeps
 * what is not given, its digest too, and the operator confirms what changes. An enrolled robot registers itself, and is refused: its computer
 * would lose its credential.
 */
export async function setUpRobot(service: Service, flags: SetupFlags): Promise<ExitCode> {
  const { terminal, context } = service;
  const { name = "" } = flags;
  const json = service.flags.json === true;
  const manifest = flags.manifest === undefined ? null : await readManifest(flags.manifest, json, context);
  if (typeof manifest === "number") return manifest;
  const digest = await digestOf(flags, manifest, context);
  if (typeof digest === "number") return digest;
  const given: GivenRegistration = {
    name,
    ...defined({
      site: flags.site,
      robot_type_id: flags.type ?? manifest?.robot_type_id,
      region: flags.region,
      configuration_digest: digest ?? undefined,
      labels: flags.label,
      contract: manifest?.contract ?? undefined,
    }),
  };
  const places = flagPlaces(SETUP, {
    ...(flags.type === undefined ? { robot_type_id: "--manifest" } : {}),
    ...(flags.configurationDigest === undefined ? { configuration_digest: "--file" } : {}),
    contract: "--manifest",
  });
  const mistake = registrationMistake(given);
  if (mistake !== null) {
    // Do not repeat the value: it may be a URL with a password.
    const { member, message } = mistake;
    const what = `${places(["body", member]) ?? member}: ${message}`;
    return refuse({ code: "usage", what, fix: "every operator can read it; correct it" }, EXIT.usage, terminal);
  }
  const before = await findRegistered(service, name);
  if (typeof before === "number") return before;
  const known = before === "hidden" ? null : before;
  const hasComputer = known === null ? false : await isEnrolledNow(service, name, known);
  if (typeof hasComputer === "number") return hasComputer;
  if (hasComputer) {
    const what = `a computer is enrolled as ${name} and registers it; this would end its credential`;
    return refuse({ code: "robot-enrolled", what, fix: ENROLLED_FIX }, EXIT.conflict, terminal);
  }
  const registration = known === null ? given : carryOver(given, known, flags);
  const { robot_type_id: robotTypeId, region } = registration;
  if (robotTypeId === undefined || region === undefined)
    return refuseUsage(`the robot ${name} is new`, "give --region, and --type or --manifest", terminal);
  if (before !== null && registration.configuration_digest === undefined) {
    // Whatever the digest is, that of nothing would take its place.
    const what = `this service does not show the configuration digest of ${name}, which would be lost`;
    const fix = "give the files with --file, or --configuration-digest";
    return refuse({ code: "digest-unknown", what, fix }, EXIT.usage, terminal);
  }
  if (before === null && digest === null) terminal.note(NO_FILES);
  const body: RegistrationBody = {
    ...registration,
    robot_type_id: robotTypeId,
    region,
    configuration_digest: registration.configuration_digest ?? configurationDigest([]),
  };
  if (before === "hidden") terminal.note(HIDDEN);
  if (known?.robot_type_id !== robotTypeId) warnOfType(body, terminal);
  if (known?.region !== region) await warnOfRegion(service, region, terminal);
  if (known !== null && flags.dryRun !== true) {
    const refused = await refusedChange(service, body, known);
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
  const { readManifestFile } = await import("./robot-files.ts");
  return readManifestFile(path, json, context);
}

const NO_FILES = "No configuration files: the digest covers nothing. --file names them.";

const HIDDEN = `This credential may not see robots. If the robot is registered already, it loses its ${ROBOT_TEXT_NAMES.join(", its ")}, labels and contract unless you give them again.`;

const ENROLLED_FIX =
  "change the configuration on that computer; if it is gone, remove the robot first: robot-policy robots remove";

/** Whether a computer is enrolled as the robot; an exit code after reporting that the service does not answer. */
async function isEnrolledNow(service: Service, name: string, known: RegisteredRobot): Promise<boolean | ExitCode> {
  const result = await service.call(beyondSpec.getRobot, { parameters: { robot: name } });
  if (result.kind === "ok") return isEnrolled(result.value.value);
  if (isUnknownOperation(result)) return (known.installation_id ?? null) !== null;
  // Such a credential replaces no computer: the service refuses that without robots:write.
  if (result.kind === "refused" && result.status === 403) return false;
  return isNothingNamed(result) ? false : service.failed(result);
}

/** Shows what changes of a registered robot. Null where the operator agrees, or is not asked. */
async function refusedChange(
  service: Service,
  body: RegistrationBody,
  before: RegisteredRobot,
): Promise<ExitCode | null> {
  const { terminal } = service;
  const changes = changeLines(body, before);
  if (changes.length === 0) return null;
  terminal.note(`${body.name} is registered already, and keeps what is not given. This changes it:`);
  for (const change of changes) terminal.note(`  ${change}`);
  const prompt = confirmationPrompt(service);
  return prompt === null ? null : refusedBy(prompt, "Change it?", terminal);
}

/** The given digest, or that of the files: from flags, else from the manifest. Null where neither has any. */
async function digestOf(
  { configurationDigest: given, file }: SetupFlags,
  manifest: RobotManifest | null,
  context: OperatorContext,
): Promise<string | ExitCode | null> {
  if (given !== undefined) return given;
  const listed = manifest?.configuration_files ?? [];
  if (file === undefined) {
    const refused = refuseOfRobot(listed, context.terminal);
    if (refused !== null) return refused;
  }
  const files = file ?? listed.map(({ path }) => path);
  if (files.length === 0) return null;
  const { digestOfFiles } = await import("./robot-files.ts");
  return digestOfFiles(files, context);
}

/** Refuses a manifest with files that only the robot can find. */
function refuseOfRobot(listed: RobotManifest["configuration_files"], terminal: Terminal): ExitCode | null {
  const ofRobot = listed.find(({ path, hardware }) => path.startsWith("~/") || isPattern(path) || hardware);
  if (ofRobot === undefined) return null;
  const what = `the manifest lists ${ofRobot.path}, and only the robot knows what that is`;
  const fix =
    ofRobot.hardware === undefined
      ? "give the files with --file, in the order of the manifest"
      : "register on the robot: sudo robot-policy-agent --setup";
  return refuse({ code: "home_missing", what, fix }, EXIT.invalid, terminal);
}
