import { access, constants } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import type { CatalogRow } from "../../manifest/catalog/catalog.ts";
import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { loadCatalog } from "../../manifest/catalog/load-catalog.ts";
import { readManifest } from "../../manifest/manifest.ts";
import { replaceDurably } from "../../platform/files/durable-file.ts";
import type { Files } from "../../platform/files/files.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Questions } from "../../platform/questions.ts";
import type { ExitCode, Problem } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { readConfiguration } from "../configuration/configuration.ts";
import { DEFAULTS, MANIFEST_NAME } from "../configuration/keys.ts";
import { imageAround, resolveFolders } from "../configuration/folders.ts";
import { chooseAmong, noEndpointIn } from "../doctor/region.ts";
import { absolute } from "../init/answer-problems.ts";
import { configurationText } from "../init/configuration-text.ts";
import type { Answers } from "../init/interview.ts";
import { askAnotherRegion, interview } from "../init/interview.ts";
import { extendedManifestText, manifestText } from "../init/manifest-text.ts";
import type { Paths } from "../init/next-steps.ts";
import { isFile, stepsHere, stepsInImage } from "../init/next-steps.ts";
import type { ServiceTest } from "../init/service-test.ts";
import { testService } from "../init/service-test.ts";
import type { CommonOptions } from "./context.ts";
import type { SetKeyContext } from "./set-key.ts";
import { KEY_LIMIT, setKey } from "./set-key.ts";

export interface InitOptions extends CommonOptions {
  readonly type?: string;
  readonly url?: string;
  readonly caFile?: string;
  readonly region?: string;
  readonly keyFile?: string;
  readonly name?: string;
  /** Configuration files, in digest order. */
  readonly file?: readonly string[];
  /** The folder for both files. */
  readonly dir?: string;
  readonly force?: boolean;
  /** Write a manifest that extends the type. */
  readonly extend?: boolean;
  /** False to skip the test of the service. */
  readonly test?: boolean;
}

export interface InitContext extends SetKeyContext {
  /** null when input is not a terminal. */
  openQuestions(): Questions | null;
}

const HINT = "Written by robot-policy-agent init. After an edit: robot-policy-agent check";
/** Readable by all: neither file contains a secret. */
const FILE_MODE = 0o644;
const DIRECTORY_MODE = 0o755;

/**
 * `init`: writes a commented configuration and manifest. At a terminal it asks for missing values, else it writes placeholders. Then it
 * tests address, certificate, key and region. A failed test is only a warning, because robots are often set up without access to the
 * service.
 */
export async function init(options: InitOptions, context: InitContext): Promise<ExitCode> {
  const { terminal, machine } = context;
  const { configPath } = resolveFolders(options, context.environment);
  const directory = resolve(options.dir ?? dirname(configPath));
  const image = imageAround(directory);
  const paths: Paths = {
    configuration: options.dir === undefined ? resolve(configPath) : join(directory, "config.yaml"),
    key: options.keyFile === undefined ? join(directory.slice(image?.length), "api-key") : absolute(options.keyFile),
    manifest: join(directory, MANIFEST_NAME),
  };
  const taken =
    options.force === true ? null : await findExisting(machine.files, [paths.configuration, paths.manifest]);
  const refusal = taken ?? (await findUnwritable(directory, directory));
  if (refusal !== null) return fail(context, refusal);

  // With --root, this computer has neither the network nor the key of the robot.
  const task: Task = { paths, image, isTested: options.test !== false && image === null, options, context };
  const given = readFlags(options);
  const questions = isComplete(given) ? null : context.openQuestions();
  const asked = questions === null ? { answers: given, wereRegionsShown: false } : await ask(questions, given, task);
  const { answers, wereRegionsShown } = asked;
  if (answers === null) {
    terminal.note("Nothing was written.");
    return EXIT.interrupted;
  }

  const { text, findings, configuration } = configurationOf(answers, task);
  const manifest = await manifestOf(answers, options);
  const all = [...findings, ...(await readManifest(Buffer.from(manifest), READY_CATALOG)).findings];
  const wrong = all.find(({ severity, id }) => severity === "error" && id !== "placeholder");
  if (wrong !== undefined) {
    const what = `${wrong.loc}: ${wrong.message}`;
    terminal.problem({ code: "bad-answer", what, fix: "correct the flag; nothing was written" });
    return EXIT.usage;
  }
  try {
    await machine.files.makeDirectory(directory, DIRECTORY_MODE);
    await replaceDurably(machine.files, paths.configuration, Buffer.from(text), FILE_MODE);
    await replaceDurably(machine.files, paths.manifest, Buffer.from(manifest), FILE_MODE);
  } catch (error) {
    return fail(context, unwritable(error, directory));
  }
  terminal.print(`Wrote ${paths.configuration}`);
  terminal.print(`Wrote ${paths.manifest}`);
  const unlisted = all.find(({ id }) => id === "type_id_unlisted");
  if (unlisted !== undefined) terminal.note(`${terminal.style("warn", "warning")}: ${unlisted.message}`);

  // Only a complete configuration tells where the key belongs.
  const hasPerson = questions !== null && image === null && configuration !== null;
  const tried = answers.url === null ? NOT_TRIED : await tryKey(answers, hasPerson, task);
  if (hasPerson && !wereRegionsShown && tried.regionsInstead.length > 0)
    await offerRegions(tried.regionsInstead, answers, task);
  const open = all.filter(({ id }) => id === "placeholder").length;
  const steps = await nextSteps(open, answers.files.length > 0, tried.hasKey, task);
  terminal.print("Next:");
  for (const [index, step] of steps.entries()) terminal.print(`  ${index + 1}. ${step}`);
  return EXIT.ok;
}

/** The parts of `init` that all its steps share. */
interface Task {
  readonly paths: Paths;
  /** The root folder of a robot's image; null on the robot itself. */
  readonly image: string | null;
  readonly isTested: boolean;
  readonly options: InitOptions;
  readonly context: InitContext;
}

function readFlags(options: InitOptions): Answers {
  const { url = null, caFile, region = null, type = null, file = [] } = options;
  return { url, caFile: caFile === undefined ? null : absolute(caFile), region, type, files: file };
}

function isComplete({ url, region, type, files }: Answers): boolean {
  return url !== null && region !== null && type !== null && files.length > 0;
}

interface Asked {
  /** null when the person aborted. */
  readonly answers: Answers | null;
  /** True when the region was chosen from the service's list. */
  readonly wereRegionsShown: boolean;
}

async function ask(questions: Questions, given: Answers, task: Task): Promise<Asked> {
  const { terminal, signal, machine } = task.context;
  let regions: readonly string[] = [];
  const test = async (url: string, caFile: string | null) => {
    const result = await tryService({ ...given, url, caFile }, task);
    regions = result?.regionsInstead ?? [];
    // The key is asked for later.
    return result?.failures.find(({ id }) => id !== "key" && id !== "authentication") ?? null;
  };
  try {
    const answers = await interview(given, {
      questions,
      terminal,
      signal,
      isFile: (path) => isFile(machine.files, absolute(path)),
      test: task.isTested ? test : null,
      regions: () => regions,
    });
    return { answers, wereRegionsShown: given.region === null && regions.length > 0 };
  } finally {
    questions.close();
  }
}

async function tryService(answers: Answers, task: Task): Promise<ServiceTest | null> {
  const { options, context } = task;
  // Without a region there is no configuration to test with.
  const { configuration } = configurationOf({ ...answers, region: answers.region ?? "any" }, task);
  if (configuration === null) return null;
  return testService(configuration, resolveFolders(options, context.environment), context);
}

interface Tried {
  /** True when a key is installed, or access to it is unknown. */
  readonly hasKey: boolean;
  readonly regionsInstead: ServiceTest["regionsInstead"];
}

const NOT_TRIED: Tried = { hasKey: false, regionsInstead: [] };

/** Tests the written configuration, and asks for the key until the service accepts it or the person skips it. */
async function tryKey(answers: Answers, hasPerson: boolean, task: Task): Promise<Tried> {
  const { paths, isTested, options, context } = task;
  let isPut = false;
  for (;;) {
    const test = isTested ? await tryService(answers, task) : null;
    if (test !== null) await showTest(test, answers.region, task);
    if (test?.key === "accepted") return { hasKey: true, regionsInstead: test.regionsInstead };
    const isWanted = test === null ? !isPut : test.key !== "untested";
    if (!isWanted || !hasPerson) return { ...NOT_TRIED, hasKey: isPut };
    const key = await context.readSecret("API key (not shown; Enter alone: later, with set-key): ", KEY_LIMIT);
    context.signal.throwIfAborted();
    if (key === null || key === "") return { ...NOT_TRIED, hasKey: isPut };
    const readSecret = async () => key;
    if ((await setKey({ ...options, config: paths.configuration }, { ...context, readSecret })) === EXIT.ok)
      isPut = true;
  }
}

/** When the service has no endpoint in the configured region, offers its regions and corrects the configuration. */
async function offerRegions(regions: readonly string[], answers: Answers, task: Task): Promise<void> {
  const { paths, context } = task;
  const { terminal, signal, machine } = context;
  const questions = context.openQuestions();
  if (questions === null) return;
  let region: string | null;
  try {
    region = await askAnotherRegion(regions, { questions, terminal, signal });
  } finally {
    questions.close();
  }
  if (region === null) return;
  const { text } = configurationOf({ ...answers, region }, task);
  await replaceDurably(machine.files, paths.configuration, Buffer.from(text), FILE_MODE);
  terminal.print(`Wrote ${paths.configuration}`);
}

async function showTest(
  { failures, key, regionsInstead }: ServiceTest,
  region: string | null,
  { paths, context }: Task,
): Promise<void> {
  const { terminal, machine } = context;
  // A missing key is a next step, not a failure.
  const hasKey = await isFile(machine.files, paths.key);
  const shown = failures.filter(({ id }) => id !== "key" || hasKey);
  for (const { what, remedy } of shown) {
    terminal.note(`${terminal.style("warn", "warning")}: ${what}`);
    terminal.note(`  → ${remedy}`);
  }
  if (shown.length === 0) terminal.note(`The service answers${key === "accepted" ? ", and accepts the key" : ""}.`);
  if (region === null || regionsInstead.length === 0) return;
  terminal.note(`${terminal.style("warn", "warning")}: ${noEndpointIn(region, regionsInstead)}`);
  terminal.note(`  → ${chooseAmong(regionsInstead)}`);
}

/** @param open how many placeholders the files have. */
async function nextSteps(
  open: number,
  hasFiles: boolean,
  hasKey: boolean,
  { paths, image, options, context }: Task,
): Promise<readonly string[]> {
  const isStandard = options.dir === undefined && options.config === undefined;
  return [
    ...(open === 0 ? [] : [`replace the ${open} <…> in them`]),
    ...(hasFiles ? [] : ["list the configuration files in robot-manifest.yaml, and set status: ready"]),
    ...(image === null
      ? stepsHere(paths, isStandard, hasKey)
      : await stepsInImage(context.machine.files, paths, image)),
  ];
}

function configurationOf({ url, caFile, region }: Answers, { paths, options }: Task) {
  const { name = DEFAULTS.robot.name } = options;
  const answers = { url, region, key_file: paths.key, ca_file: caFile, name, labels: {} };
  const text = configurationText(answers, HINT);
  const { findings, value: configuration } = readConfiguration(Buffer.from(text), { path: paths.configuration });
  return { text, findings, configuration };
}

async function manifestOf(answers: Answers, options: InitOptions): Promise<string> {
  const files = answers.files.map((path) => ({ label: null, path: absolute(path) }));
  const base = await baseFor(answers.type, options);
  return base === null
    ? manifestText({ robotTypeId: answers.type, displayName: null, files }, HINT)
    : extendedManifestText({ base, files }, HINT);
}

/** The type to extend: with --extend, or when the type is not known to be hosted. */
async function baseFor(type: string | null, { extend }: InitOptions): Promise<CatalogRow | null> {
  if (type === null || (extend !== true && READY_CATALOG.get(type)?.hosted !== false)) return null;
  const rows = await loadCatalog();
  return rows.find(({ robot_type_id: robotTypeId }) => robotTypeId === type) ?? null;
}

/** Refuses to overwrite existing files without --force. */
async function findExisting(files: Files, paths: readonly string[]): Promise<Problem | null> {
  for (const path of paths) {
    try {
      await files.linkStat(path);
    } catch (error) {
      if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") continue;
      return unwritable(error, path);
    }
    return { code: "exists", what: "the file exists already", where: path, fix: "to replace it: --force" };
  }
  return null;
}

/** Checked before the first question, so that no answers are lost. @param nearest the folder, or its nearest existing parent. */
async function findUnwritable(directory: string, nearest: string): Promise<Problem | null> {
  try {
    await access(nearest, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    if (errorCode(error) === "ENOENT" && dirname(nearest) !== nearest)
      return findUnwritable(directory, dirname(nearest));
    return unwritable(error, directory);
  }
}

function unwritable(error: unknown, where: string): Problem {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const fix =
    code === "EACCES" || code === "EPERM"
      ? "run it as root, or write elsewhere: --dir DIR"
      : "choose another place: --dir DIR";
  return { code: "not-writable", what: `cannot write there (${code})`, where, fix };
}

function fail({ terminal }: InitContext, problem: Problem): ExitCode {
  terminal.problem(problem);
  return EXIT.failed;
}
