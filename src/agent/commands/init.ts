import { dirname, isAbsolute, join, resolve } from "node:path";

import { parseServiceUrl } from "../../client/service-url.ts";
import { readManifest } from "../../manifest/manifest.ts";
import type { CatalogRow } from "../../manifest/catalog.ts";
import { loadCatalog } from "../../manifest/catalog.ts";
import { READY_CATALOG } from "../../manifest/catalog-ids.ts";
import { replaceDurably } from "../../platform/durable-file.ts";
import type { Files } from "../../platform/files.ts";
import { errorCode } from "../../platform/files.ts";
import type { Questions } from "../../platform/questions.ts";
import { shellWord } from "../../platform/shell-word.ts";
import type { ExitCode, Problem } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { DEFAULTS, readConfiguration } from "../configuration.ts";
import { imageAround, resolveFolders } from "../folders.ts";
import { configurationText } from "../init/configuration-text.ts";
import { extendedManifestText, manifestText } from "../init/manifest-text.ts";
import type { CommandContext, CommonOptions } from "./context.ts";

export interface InitOptions extends CommonOptions {
  readonly type?: string;
  readonly url?: string;
  readonly region?: string;
  readonly keyFile?: string;
  readonly name?: string;
  /** Configuration files, in digest order. */
  readonly file?: readonly string[];
  /** Where both files go. */
  readonly dir?: string;
  readonly force?: boolean;
  /** Write a manifest that extends the type, to change it. */
  readonly extend?: boolean;
}

export interface InitContext extends CommandContext {
  /** null where nobody sits at the terminal. */
  openQuestions(): Questions | null;
}

interface Paths {
  readonly configuration: string;
  readonly key: string;
  readonly manifest: string;
}

const HINT = "Written by robot-policy-agent init. After an edit: robot-policy-agent check";
/** Neither file holds a secret, and both are for people to read. */
const FILE_MODE = 0o644;
const DIRECTORY_MODE = 0o755;
/** How often a question is repeated before the answer is left to the editor. */
const ATTEMPTS = 3;
/** As many as the manifest may list. */
const FILES_LIMIT = 64;

/** `init`: writes a commented configuration and manifest. Asks for what is missing where somebody can answer, else marks it in the files. */
export async function init(options: InitOptions, context: InitContext): Promise<ExitCode> {
  const { terminal, machine } = context;
  const { config_path } = resolveFolders(options, context.environment);
  const directory = resolve(options.dir ?? dirname(config_path));
  const image = imageAround(directory);
  const paths: Paths = {
    configuration: options.dir === undefined ? resolve(config_path) : join(directory, "config.yaml"),
    // As the agent will see it.
    key: options.keyFile === undefined ? join(directory.slice(image?.length), "api-key") : absolute(options.keyFile),
    manifest: join(directory, DEFAULTS.manifest),
  };
  if (options.force !== true) {
    const taken = await findExisting(machine.files, [paths.configuration, paths.manifest]);
    if (taken !== null) return fail(context, taken);
  }
  const answers = await answer(options, context);
  const files = answers.files.map((path) => ({ label: null, path: absolute(path) }));
  const configuration = configurationText(
    {
      url: answers.url,
      region: answers.region,
      key_file: paths.key,
      name: options.name ?? DEFAULTS.name,
      site: null,
      labels: {},
    },
    HINT,
  );
  const base = await baseFor(answers.type, options);
  const manifest =
    base === null
      ? manifestText({ robot_type_id: answers.type, display_name: null, files }, HINT)
      : extendedManifestText({ base, files }, HINT);

  const findings = [
    ...readConfiguration(Buffer.from(configuration), { path: paths.configuration }).findings,
    ...(await readManifest(Buffer.from(manifest), READY_CATALOG)).findings,
  ];
  const wrong = findings.find(({ severity, id }) => severity === "error" && id !== "placeholder");
  if (wrong !== undefined) {
    const what = `${wrong.loc}: ${wrong.message}`;
    terminal.problem({ code: "bad-answer", what, fix: "correct the flag; nothing was written" });
    return EXIT.usage;
  }
  try {
    await machine.files.makeDirectory(directory, DIRECTORY_MODE);
    await replaceDurably(machine.files, paths.configuration, Buffer.from(configuration), FILE_MODE);
    await replaceDurably(machine.files, paths.manifest, Buffer.from(manifest), FILE_MODE);
  } catch (error) {
    return fail(context, unwritable(error, directory));
  }
  const unlisted = findings.find(({ id }) => id === "type_id_unlisted");
  if (unlisted !== undefined) terminal.note(`${terminal.style("warn", "warning")}: ${unlisted.message}`);
  const open = findings.filter(({ id }) => id === "placeholder").length;
  const writing = [
    ...(open === 0 ? [] : [`replace the ${open} <…> in them`]),
    ...(files.length === 0 ? ["list the configuration files in robot-manifest.yaml, and set status: ready"] : []),
  ];
  const is_standard = options.dir === undefined && options.config === undefined;
  const using = image === null ? stepsHere(paths, is_standard) : await stepsInImage(machine.files, paths, image);
  terminal.print(`Wrote ${paths.configuration}`);
  terminal.print(`Wrote ${paths.manifest}`);
  terminal.print("Next:");
  for (const [index, step] of [...writing, ...using].entries()) terminal.print(`  ${index + 1}. ${step}`);
  return EXIT.ok;
}

/** Nothing that a person wrote is lost for a command typed twice. */
async function findExisting(files: Files, paths: readonly string[]): Promise<Problem | null> {
  for (const path of paths) {
    try {
      await files.linkStat(path);
    } catch (error) {
      if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") continue;
      return unwritable(error, path);
    }
    return { code: "exists", what: "the file is there already", where: path, fix: "to replace it: --force" };
  }
  return null;
}

interface Answers {
  readonly url: string | null;
  readonly region: string | null;
  readonly type: string | null;
  /** In digest order. */
  readonly files: readonly string[];
}

async function answer(options: InitOptions, context: InitContext): Promise<Answers> {
  const { url = null, region = null, type = null, file: files = [] } = options;
  const given = { url, region, type, files };
  if (url !== null && region !== null && type !== null && files.length > 0) return given;
  const questions = context.openQuestions();
  if (questions === null) return given;
  try {
    context.terminal.note("Enter alone leaves an answer open; it is marked in the file.");
    return {
      url: url ?? (await ask(questions, "Address of the service (https://HOST): ", urlProblem, context)),
      region: region ?? (await ask(questions, "Cloud region nearest to the robot: ", () => null, context)),
      type:
        type ?? (await ask(questions, "Type of the robot (see: robot-policy-agent catalog): ", typeProblem, context)),
      files: files.length > 0 ? files : await askFiles(questions, context),
    };
  } finally {
    questions.close();
  }
}

/** One by one, in digest order. A file that is not there yet may come: it is said, and kept. */
async function askFiles(questions: Questions, context: CommandContext): Promise<readonly string[]> {
  const { terminal, machine } = context;
  terminal.note("Configuration files: those that decide how a command becomes motion, such as calibration and limits.");
  const files: string[] = [];
  while (files.length < FILES_LIMIT) {
    const question = `Configuration file ${files.length + 1} (Enter alone: no more): `;
    const path = await ask(questions, question, fileProblem, context);
    if (path === null) break;
    if (!path.startsWith("~/") && !(await isFile(machine.files, absolute(path))))
      terminal.note(`There is no such file now: ${absolute(path)}. It is listed all the same.`);
    files.push(path);
  }
  return files;
}

async function fileProblem(answer: string): Promise<string | null> {
  const files = [{ label: null, path: absolute(answer) }];
  const text = manifestText({ robot_type_id: null, display_name: null, files }, HINT);
  const { findings } = await readManifest(Buffer.from(text), READY_CATALOG);
  return findings.find(({ severity, id }) => severity === "error" && id !== "placeholder")?.message ?? null;
}

async function isFile(files: Files, path: string): Promise<boolean> {
  try {
    return (await files.stat(path)).kind === "file";
  } catch {
    return false;
  }
}

async function ask(
  questions: Questions,
  question: string,
  problemOf: (answer: string) => string | null | Promise<string | null>,
  { terminal, signal }: CommandContext,
): Promise<string | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const line = await questions.ask(question);
    signal.throwIfAborted();
    const written = line?.trim() ?? "";
    if (written === "") return null;
    const problem = await problemOf(written);
    if (problem === null) return written;
    terminal.note(problem);
  }
  return null;
}

/** The type to extend: where that is asked for, and where a service is not known to take the type by its id. */
async function baseFor(type: string | null, { extend }: InitOptions): Promise<CatalogRow | null> {
  if (type === null || (extend !== true && READY_CATALOG.get(type)?.hosted !== false)) return null;
  const rows = await loadCatalog();
  return rows.find(({ robot_type_id }) => robot_type_id === type) ?? null;
}

function urlProblem(answer: string): string | null {
  const parsed = parseServiceUrl(answer, false);
  return parsed.kind === "url" ? null : `${parsed.what}; ${parsed.fix}`;
}

async function typeProblem(answer: string): Promise<string | null> {
  const text = manifestText({ robot_type_id: answer, display_name: null, files: [] }, HINT);
  const { findings } = await readManifest(Buffer.from(text), READY_CATALOG);
  return findings.find(({ severity }) => severity === "error")?.message ?? null;
}

/** `~/` stays: whose home that is, the configuration says. */
function absolute(path: string): string {
  return isAbsolute(path) || path.startsWith("~/") ? path : resolve(path);
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

function fail({ terminal }: CommandContext, problem: Problem): ExitCode {
  terminal.problem(problem);
  return EXIT.failed;
}

/** @param is_standard the files are where the installed agent looks. */
function stepsHere({ configuration }: Paths, is_standard: boolean): readonly string[] {
  const program = is_standard ? "sudo robot-policy-agent" : "robot-policy-agent";
  const named = is_standard ? "" : ` --config ${configuration}`;
  return [
    `${program} set-key${named}`,
    `${program} check${named}`,
    `${program} --setup${named}`,
    // Registered once is not watched.
    ...(is_standard ? ["sudo systemctl start robot-policy-agent"] : []),
  ];
}

/** Nothing that looks at this computer, or would register it: the agent of the image comes up with its robot. */
async function stepsInImage(files: Files, { configuration, key }: Paths, image: string): Promise<readonly string[]> {
  const root = shellWord(image);
  const key_path = join(image, key);
  // `install` has one place for the key, and leaves an image with the Debian package alone.
  const is_for_install =
    key_path === join(dirname(configuration), "api-key") &&
    !(await isFile(files, join(image, "usr/bin/robot-policy-agent")));
  const putting = is_for_install
    ? `sudo robot-policy-agent install --root ${root} --key-file FILE`
    : `sudo chroot ${root} robot-policy-agent set-key`;
  return [
    ...((await isFile(files, key_path)) ? [] : [putting]),
    "on a robot that runs this image: sudo robot-policy-agent status",
  ];
}
