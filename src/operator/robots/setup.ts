import { operations } from "../../api/api.ts";
import type { RobotManifest } from "../../manifest/manifest.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { ConfirmFlags } from "../confirm.ts";
import { confirmationPrompt, refusedBy } from "../confirm.ts";
import type { OperatorContext } from "../context.ts";
import type { Places } from "../files/places.ts";
import { flagPlaces } from "../files/places.ts";
import { readWritten } from "../files/written-file.ts";
import { withService } from "../operator.ts";
import type { RegisteredRobot } from "./find-registered.ts";
import { findRegistered } from "./find-registered.ts";
import { hashFiles } from "./hash-files.ts";
import { readManifestFile } from "./manifest-file.ts";
import type { CarryOver, RegistrationBody } from "./registration-change.ts";
import { carryOver, changesInWords, keptInWords } from "./registration-change.ts";
import { registrationMistake, warnOfRegion, warnOfType } from "./registration-checks.ts";
import type { WrittenRegistration } from "./registration-file.ts";
import { REGISTRATION_HINTS, writtenRegistration } from "./registration-file.ts";
import type { RegistrationFlags } from "./registration-flags.ts";
import { readRegistrationFlags } from "./registration-flags.ts";

export interface RobotsSetupFlags extends RegistrationFlags, ConfirmFlags {
  readonly from?: string;
  readonly manifest?: string;
  readonly dryRun?: boolean;
}

const FLAGS = flagPlaces({
  name: "--name",
  robot_type_id: "--type",
  region: "--region",
  site: "--site",
  labels: "--label",
  configuration_digest: "--file",
  contract: "--manifest",
});

/**
 * `robots setup`: registers a robot without an agent. Each member comes from a flag, else from the registration file; type, files and contract
 * else from the robot manifest. A registered robot keeps what is not given again, and the operator confirms what changes.
 */
export async function robotsSetup(flags: RobotsSetupFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  const fromFlags = readRegistrationFlags(flags, terminal);
  if (fromFlags === null) return EXIT.usage;
  const json = flags.json === true;
  const file = flags.from === undefined ? null : await readWritten(flags.from, rulesFor(flags.from, json), context);
  if (file?.kind === "unusable") return file.exitCode;
  const read = flags.manifest === undefined ? null : await readManifestFile(flags.manifest, context);
  if (typeof read === "number") return read;
  const manifest = read?.manifest ?? null;
  const written = { ...fromManifest(manifest), ...file?.value, ...fromFlags };
  const { name, robot_type_id: robotTypeId, region, site, labels } = written;
  if (name === undefined || robotTypeId === undefined || region === undefined) {
    return refuseIncomplete(written, flags, terminal);
  }
  const configurationDigest = await digestOf(fromFlags, file?.value ?? {}, manifest, context);
  if (typeof configurationDigest === "number") return configurationDigest;
  const contract = manifest?.contract ?? null;
  const given: RegistrationBody = {
    name,
    robot_type_id: robotTypeId,
    region,
    configuration_digest: configurationDigest,
    ...(site === undefined ? {} : { site }),
    ...(labels === undefined ? {} : { labels }),
    ...(contract === null ? {} : { contract }),
  };
  const places: Places = (loc) => {
    const member = String(loc[1]);
    if (Object.hasOwn(fromFlags, member)) return FLAGS(loc);
    if (file !== null && Object.hasOwn(file.value, member)) return file.places(loc);
    return read?.places(loc) ?? FLAGS(loc);
  };
  const mistake = registrationMistake(given);
  if (mistake !== null) {
    // Do not repeat the value: it may be a URL with a password.
    const { member, message } = mistake;
    const what = `${places(["body", member]) ?? member}: ${message}`;
    terminal.problem({ code: "usage", what, fix: "every operator can read what is registered; correct it" });
    return Object.hasOwn(fromFlags, member) ? EXIT.usage : EXIT.invalid;
  }
  return withService(flags, context, async (service) => {
    const before = await findRegistered(service, name);
    if (typeof before === "number") return before;
    const known = before === "hidden" ? null : before;
    const body = known === null ? given : carryOver(given, known, rulesOf(flags));
    if (before === "hidden") terminal.note(HIDDEN);
    if (known?.robot_type_id !== robotTypeId) warnOfType(body, terminal);
    if (known?.region !== region) await warnOfRegion(service, region, terminal);
    if (flags.dryRun === true) return service.showRequest(operations.setupRobot, { body }, json);
    const refused = known === null ? null : await refusedChange(given, body, known, flags, context);
    if (refused !== null) return refused;
    const result = await service.call(operations.setupRobot, { body });
    if (result.kind !== "ok") return service.failed(result, { body, places });
    const { robot } = result.value.value;
    if (json) terminal.json(result.value.document);
    else terminal.print(`${robot.name} is registered (${robot.id}) with ${configurationDigest}.`);
    return EXIT.ok;
  });
}

const HIDDEN =
  "This credential may not see robots. If the robot is registered already, it loses a site, labels and a contract that are not given.";

function rulesOf({ clearSite, clearLabels, manifest }: RobotsSetupFlags): CarryOver {
  return {
    clearSite: clearSite === true,
    clearLabels: clearLabels === true,
    hasManifest: manifest !== undefined,
  };
}

/** Shows what changes of a registered robot. Null where the operator agrees, or is not asked. */
async function refusedChange(
  given: RegistrationBody,
  body: RegistrationBody,
  before: RegisteredRobot,
  flags: RobotsSetupFlags,
  context: OperatorContext,
): Promise<ExitCode | null> {
  const { terminal } = context;
  const changes = changesInWords(body, before);
  if (changes.length === 0) return null;
  terminal.note(`${body.name} is registered already. This changes it:`);
  for (const change of changes) terminal.note(`  ${change}`);
  const kept = keptInWords(given, body);
  if (kept !== "") terminal.note(`It keeps what is not given again: ${kept}.`);
  const person = confirmationPrompt(flags, context);
  return person === null ? null : refusedBy(person, "Change it?", terminal);
}

function rulesFor(path: string, json: boolean) {
  return { subject: "registration", reader: writtenRegistration(path), hints: REGISTRATION_HINTS, json } as const;
}

function fromManifest(manifest: RobotManifest | null): WrittenRegistration {
  return manifest === null ? {} : { robot_type_id: manifest.robot_type_id };
}

function refuseIncomplete(
  { name, robot_type_id: robotTypeId, region }: WrittenRegistration,
  { from }: RobotsSetupFlags,
  terminal: Terminal,
): ExitCode {
  const lacks = [
    ["name", "--name", name],
    ["robot_type_id", "--type or --manifest", robotTypeId],
    ["region", "--region", region],
  ].filter(([, , value]) => value === undefined);
  const members = lacks.map(([member]) => member).join(", ");
  const what = from === undefined ? "the description of the robot is incomplete" : `${from} lacks ${members}`;
  terminal.problem({ code: "usage", what, fix: `give ${lacks.map(([, flag]) => flag).join(", ")}` });
  return from === undefined ? EXIT.usage : EXIT.invalid;
}

/** The given digest, or that of the files: from flags, else from the registration file, else from the manifest. */
async function digestOf(
  flags: WrittenRegistration,
  file: WrittenRegistration,
  manifest: RobotManifest | null,
  context: OperatorContext,
): Promise<string | ExitCode> {
  const says = (source: WrittenRegistration) =>
    source.configuration_digest !== undefined || source.configurationFiles !== undefined;
  const source = says(flags) ? flags : file;
  if (source.configuration_digest !== undefined) return source.configuration_digest;
  const ofManifest = says(source) ? [] : (manifest?.configuration_files ?? []);
  const home = ofManifest.find(({ path }) => path.startsWith("~/"));
  const { terminal } = context;
  if (home !== undefined) {
    const what = `the manifest lists ${home.path}, and only the robot knows that home folder`;
    terminal.problem({ code: "home_missing", what, fix: "give the files with --file, in the order of the manifest" });
    return EXIT.invalid;
  }
  const files = source.configurationFiles ?? ofManifest.map(({ path }) => path);
  if (files.length === 0) terminal.note("No configuration files: the digest covers nothing. --file names them.");
  const snapshot = await hashFiles(files, context);
  return typeof snapshot === "number" ? snapshot : snapshot.digest;
}
