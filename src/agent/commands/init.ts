import { dirname, join, resolve } from "node:path";

import { JOINT_UNITS, type JointUnit, lerobotUnit, READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { holdsCredentials } from "../../documents/secrets.ts";
import { shown } from "../../documents/texts.ts";
import { isPattern } from "../../look/patterns.ts";
import { EXIT, type ExitCode, type Person, type Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { imageAround, resolveFolders } from "../configuration/folders.ts";
import { MANIFEST_NAME } from "../configuration/keys.ts";
import { listRegions, withAccess } from "../doctor/service.ts";
import { absolute, type Answers, documentsOf, isComplete, isUnitOpen, wrongAnswers } from "../init/answers.ts";
import type { Detection } from "../init/detect/detect.ts";
import { homesOf } from "../init/detect/detection.ts";
import { isSure } from "../init/detect/devices.ts";
import { adopt, proposalLines } from "../init/detect/proposal.ts";
import { findObstacle, kindOf, type Places, stepsHere, stepsInImage, writeBoth } from "../init/places.ts";
import { type Interview, type Interviewed, interview } from "../init/questions.ts";
import { suggestType } from "../init/type-choice.ts";
import type { CommonOptions } from "./context.ts";
import { doctor } from "./doctor.ts";
import { enroll } from "./enroll.ts";
import { type SetKeyContext, setKey } from "./set-key.ts";

export interface InitOptions extends CommonOptions {
  readonly type?: string;
  readonly url?: string;
  readonly caFile?: string;
  readonly allowInsecure?: boolean;
  readonly region?: string;
  readonly keyFile?: string;
  readonly name?: string;
  readonly site?: string;
  /** Each `name=value`. */
  readonly label?: readonly string[];
  readonly proxy?: string;
  /** File with a key for enrolment only. */
  readonly enrolmentKey?: string;
  /** What the joints of a LeRobot robot are in. */
  readonly unit?: JointUnit;
  /** Configuration files, in digest order. */
  readonly file?: readonly string[];
  /** Look for the robot's files, as at a terminal. */
  readonly detect?: boolean;
  /** With `detect`: take what was found, and ask nothing, where nothing about it is open. */
  readonly yes?: boolean;
  /** The folder for both files. */
  readonly dir?: string;
  readonly force?: boolean;
  /** Write a manifest that extends the type. */
  readonly extend?: boolean;
  /** Enroll the robot as the last step. */
  readonly enroll?: boolean;
  /** False to skip the test of the service. */
  readonly test?: boolean;
}

export interface InitContext extends SetKeyContext {
  /** null without a terminal. */
  openPerson(): Person | null;
  /** How a shell calls this program. */
  readonly program: string;
}

/**
 * `init`: writes a commented configuration and manifest. At a terminal it asks for missing values, else it writes placeholders. Then it
 * runs the checks of `doctor`, whose failures are only shown, because robots are often set up without access to the service. The last step,
 * if wanted, is to enroll the robot.
 */
export async function init(options: InitOptions, context: InitContext): Promise<ExitCode> {
  const { terminal, machine } = context;
  const places = placesOf(options, context);
  const { image } = places;
  const given = readFlags(options, places.key);
  const wrong = await wrongFlags(given, options, image);
  for (const problem of wrong) terminal.problem(problem);
  if (wrong.length > 0) return EXIT.usage;
  const obstacle = await findObstacle(machine.files, places, options.force === true);
  if (obstacle !== null) return fail(context, obstacle);

  const detection = await lookAround(given, places, options, context);
  const decided = options.yes === true ? (detection?.decided ?? null) : null;
  const sure = detection?.devices.filter(isSure).map(({ entry }) => entry) ?? [];
  const known = decided === null ? given : { ...adopt(given, decided), devices: sure };
  const { candidates, devices } = (decided === null ? detection : null) ?? { candidates: [], devices: [] };
  const isSettled = decided !== null && !isUnitOpen(known);
  const told = isSettled
    ? withoutQuestions(known)
    : await ask(known, { candidates, devices }, places, options, context);
  context.signal.throwIfAborted();
  if (told === "undecided") {
    return fail(context, undecided(known, candidates.length), EXIT.invalid);
  }
  if (told === null) {
    terminal.note("Nothing was written.");
    return EXIT.interrupted;
  }
  const { answers, credential } = told;
  const documents = await documentsOf(answers);
  const unwritten = await writeBoth(machine.files, places, documents);
  if (unwritten !== null) return fail(context, unwritten);
  terminal.print(`Wrote ${places.configuration}`);
  terminal.print(`Wrote ${places.manifest}`);
  const unlisted = documents.findings.find(({ id }) => id === "type_id_unlisted");
  if (unlisted !== undefined) terminal.warning(unlisted.message);
  await warnOfMissingFiles(given, places, context);

  const written = { config: places.configuration, stateDir: options.stateDir, runtimeDir: options.runtimeDir };
  if (credential === "key") await setKey(written, context);
  // Whoever fills an image has neither the network nor the key of the robot.
  const isTested = options.test !== false && image === null && documents.service !== null;
  const health = isTested ? await doctor(written, context) : null;
  const open = documents.findings.filter(({ id }) => id === "placeholder").length;
  const canReach = health !== EXIT.unreachable && health !== EXIT.invalid;
  const isEnrolling = options.enroll === true || (credential === "enroll" && canReach);
  if (isEnrolling && open === 0 && isComplete(answers)) return enroll(written, context);

  const hasCredential = health === EXIT.ok || (await kindOf(machine.files, places.key)) === "file";
  await showSteps(open, answers.files.length > 0, hasCredential, places, options, context);
  if (options.enroll !== true) return EXIT.ok;
  const what = "the robot is not enrolled, because the two files are not complete";
  return fail(context, { code: "not-enrolled", what, fix: "take the steps above" }, EXIT.invalid);
}

function placesOf(options: InitOptions, { environment }: InitContext): Places {
  const { configPath } = resolveFolders(options, environment);
  const directory = resolve(options.dir ?? dirname(configPath));
  const image = imageAround(directory);
  const { keyFile } = options;
  return {
    directory,
    image,
    configuration: options.dir === undefined ? configPath : join(directory, "config.yaml"),
    key: keyFile === undefined ? join(directory.slice(image?.length), "api-key") : absolute(keyFile),
    manifest: join(directory, MANIFEST_NAME),
  };
}

/** @param open how many placeholders the files have. */
async function showSteps(
  open: number,
  hasFiles: boolean,
  hasCredential: boolean,
  { image, configuration, key }: Places,
  { dir, config }: InitOptions,
  { terminal, machine }: InitContext,
): Promise<void> {
  const named = dir === undefined ? "" : ` --config ${shellWord(configuration)}`;
  const steps = [
    ...(open === 0 ? [] : [`replace the ${open} <…> in both files`]),
    ...(hasFiles ? [] : [`list the configuration files in ${MANIFEST_NAME}, and set status: ready`]),
    ...(image === null
      ? stepsHere(named, dir === undefined && config === undefined, hasCredential)
      : await stepsInImage(machine.files, image, key)),
  ];
  terminal.print("Next:");
  for (const [index, step] of steps.entries()) {
    const line = `  ${index + 1}. ${step}`;
    // The steps of an image are for another machine, where the flags of this command do not apply.
    if (image === null) terminal.print(line);
    else terminal.printText(line);
  }
}

function readFlags(options: InitOptions, keyFile: string): Answers {
  const { url = null, caFile, allowInsecure = false, region = null, name = null, site = null, proxy = null } = options;
  const { enrolmentKey, type = null, unit = null, extend: isExtended = false, file: files = [] } = options;
  return {
    url,
    keyFile,
    caFile: caFile === undefined ? null : absolute(caFile),
    allowInsecure,
    proxy,
    enrolmentKeyFile: enrolmentKey === undefined ? null : absolute(enrolmentKey),
    region,
    name,
    site,
    labels: Object.fromEntries((options.label ?? []).map(readLabel)),
    type,
    unit,
    isExtended,
    files,
    devices: [],
    ranges: [],
  };
}

/** `wrongFlags` refuses a text without `=`. */
function readLabel(text: string): readonly [string, string] {
  const [name = "", value = ""] = text.split(/=(.*)/s, 2);
  return [name, value];
}

/** What is wrong with the flags, all at once, before a person answers a question. */
async function wrongFlags(given: Answers, options: InitOptions, image: string | null): Promise<readonly Problem[]> {
  const { type, unit } = given;
  const wrong = await wrongAnswers(given);
  const problems = wrong.map(({ flag, id, what }) => {
    const suggested = flag === "--type" ? [suggestType(type ?? "", READY_CATALOG), ALL_TYPES] : [];
    const insecure = id === "insecure_url" ? ["to allow plain http on a network that you trust: --allow-insecure"] : [];
    const fix = ["correct the flag; nothing was written", ...suggested, ...insecure];
    return [`${flag}: ${what}`, fix.filter((part) => part !== null).join("; ")] as const;
  });
  if (holdsCredentials(options.proxy ?? "")) {
    const what = "--proxy: user name and password would be in a file that everybody can read";
    problems.push([what, "leave it out, write service.proxy yourself, and chmod 640 the file"]);
  }
  const noLabel = options.label?.find((text) => !text.includes("="));
  if (noLabel !== undefined) problems.push([`--label: ${shown(noLabel)} has no =`, "write --label NAME=VALUE"]);
  const isTypeRight = type !== null && !wrong.some(({ flag }) => flag === "--type");
  if (unit !== null && isTypeRight && lerobotUnit(type) === null)
    problems.push([`--unit: ${type} is not a LeRobot type`, "leave it out; units are in the manifest"]);
  if (options.extend === true && type !== null && !READY_CATALOG.has(type))
    problems.push([`--extend: the catalog has no type ${type}`, ALL_TYPES]);
  if (options.yes === true && options.detect !== true)
    problems.push(["--yes: it takes what --detect finds", "add --detect"]);
  if (image !== null && options.detect === true)
    problems.push(["--detect: it looks at this computer, not at an image", "leave it out, and name --type and --file"]);
  if (image !== null && options.enroll === true) {
    const fix = "leave it out; robots of an image enroll at their first boot, by service.enrolment_key_file";
    problems.push(["--enroll: it is for a robot, not for an image", fix]);
  }
  return problems.map(([what, fix]) => ({ code: "bad-answer", what, fix }));
}

const ALL_TYPES = "all types: robot-policy-agent catalog";

function withoutQuestions(answers: Answers): Interviewed {
  return { answers, credential: "later" };
}

/** @param count of the robots that it may be. */
function undecided(known: Answers, count: number): Problem {
  const units = isUnitOpen(known) ? lerobotUnit(known.type ?? "") : null;
  const code = "undecided";
  if (units !== null) {
    const fix = JOINT_UNITS.map((unit) => `--unit ${unit} for ${units[unit]}`).join("; ");
    return { code, what: "no file says what the joints are in; nothing was written", fix };
  }
  const what = count === 0 ? "no robot's files were found" : "what was found does not say which robot or files it is";
  const fix = "run it at a terminal, which asks, or name --type and each --file";
  return { code, what: `${what}; nothing was written`, fix };
}

/** Looks for what no flag names, and says what it found. Without a terminal only if asked to. */
async function lookAround(
  { type, files }: Answers,
  { image }: Places,
  { detect: isAsked = false }: InitOptions,
  { machine, environment, userId, signal, terminal, openPerson }: InitContext,
): Promise<Detection | null> {
  if (image !== null || (type !== null && files.length > 0) || !(isAsked || openPerson() !== null)) return null;
  const { detect } = await import("../init/detect/detect.ts");
  const homes = await homesOf(machine.files, environment, userId);
  const detection = await detect({ files: machine.files, clock: machine.clock, signal, homes, environment });
  for (const line of proposalLines(detection)) terminal.note(line);
  return detection;
}

/**
 * Asks for what no flag gives.
 *
 * @returns null when the person ended the questions, `undecided` when nobody is there to answer what `--yes` left open.
 */
async function ask(
  given: Answers,
  found: Pick<Interview, "candidates" | "devices">,
  { image, key }: Places,
  options: InitOptions,
  context: InitContext,
): Promise<Interviewed | "undecided" | null> {
  const { files, identity } = context.machine;
  const person = isComplete(given) ? null : context.openPerson();
  if (person === null) return options.yes === true ? "undecided" : withoutQuestions(given);
  const hasCredential = given.enrolmentKeyFile !== null || (await kindOf(files, key)) === "file";
  return interview(given, {
    person,
    signal: context.signal,
    hostname: image === null ? identity.hostname() : null,
    wantsCredential: image === null && options.enroll !== true && !hasCredential,
    ...found,
    kindOf: (path) => kindOf(files, path),
    regionsOf: async (answers) => (options.test === false || image !== null ? [] : regionsOf(answers, context)),
  });
}

/** The regions of the service, to choose from; none where it does not tell them without a key. */
async function regionsOf(answers: Answers, context: InitContext): Promise<readonly string[]> {
  const { service } = await documentsOf({ ...answers, region: NO_REGION });
  if (service === null) return [];
  context.terminal.note(`Asking ${service.url} for its regions …`);
  return (await withAccess(context, service, (access) => listRegions(access, null, context.signal))) ?? [];
}

/** No region of a service. */
const NO_REGION = "none-of-them";

/** Files of flags; those of questions were looked at when they were answered. An image may get them later. */
async function warnOfMissingFiles({ files }: Answers, { image }: Places, context: InitContext): Promise<void> {
  if (image !== null) return;
  for (const path of files.filter((each) => !each.startsWith("~/") && !isPattern(each)).map(absolute)) {
    const isMissing = (await kindOf(context.machine.files, path)) === null;
    if (isMissing) context.terminal.warning(`the file does not exist: ${path}`);
  }
}

function fail({ terminal }: InitContext, problem: Problem, exitCode: ExitCode = EXIT.failed): ExitCode {
  terminal.problem(problem);
  return exitCode;
}
