import { dirname, join, resolve } from "node:path";

import type { CatalogRow } from "../../manifest/catalog/catalog.ts";
import { lerobotUnit } from "../../manifest/catalog/hints.ts";
import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { loadCatalog } from "../../manifest/catalog/load-catalog.ts";
import { isError } from "../../manifest/finding.ts";
import { holdsCredentials } from "../../manifest/registered-text.ts";
import { readManifest } from "../../manifest/manifest.ts";
import { shown } from "../../manifest/shown.ts";
import { replaceDurably } from "../../platform/files/durable-file.ts";
import { leadsOut } from "../../platform/files/leads-out.ts";
import type { Questions } from "../../platform/questions.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { imageAround, resolveFolders } from "../configuration/folders.ts";
import { MANIFEST_NAME } from "../configuration/keys.ts";
import { absolute, withoutLine } from "../init/answer-problems.ts";
import { interview } from "../init/interview.ts";
import { extendedManifestText, manifestText } from "../init/manifest-text.ts";
import { kindOf, type Paths, stepsHere, stepsInImage } from "../init/next-steps.ts";
import { findExisting, findUnwritable, unwritable } from "../init/places.ts";
import type { Answers } from "../init/questions.ts";
import { configurationOf, FILE_MODE, HINT, type InitContext, type InitOptions, type Task } from "../init/task.ts";
import { chooseType } from "../init/type-choice.ts";
import { NOT_TRIED, offerEnrolment, offerRegions, tryKey, tryService } from "../init/try-service.ts";
import { enroll } from "./enroll.ts";

const DIRECTORY_MODE = 0o755;

/**
 * `init`: writes a commented configuration and manifest. At a terminal it asks for missing values, else it writes placeholders. Then it
 * tests address, certificate, key and region. A failed test is only a warning, because robots are often set up without access to the
 * service. The last step, if wanted, is to enroll the robot.
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
  // Whoever fills an image has neither the network nor the key of the robot.
  const task: Task = { paths, image, isTested: options.test !== false && image === null, options, context };
  const given = readFlags(options);
  const wrong = await wrongFlags(given, task);
  for (const problem of wrong) terminal.problem(problem);
  if (wrong.length > 0) return EXIT.usage;
  const taken =
    options.force === true ? null : await findExisting(machine.files, [paths.configuration, paths.manifest]);
  const refusal = (await findWayOut(image, directory)) ?? taken ?? (await findUnwritable(directory, directory));
  if (refusal !== null) return fail(context, refusal);

  const questions = isComplete(given) ? null : context.openQuestions();
  const asked = questions === null ? { answers: given, wereRegionsShown: false } : await ask(questions, given, task);
  const { answers, wereRegionsShown } = asked;
  if (answers === null) {
    terminal.note("Nothing was written.");
    return EXIT.interrupted;
  }

  const { text, manifest, configuration, findings } = await documentsOf(answers, task);
  try {
    await machine.files.makeDirectory(directory, DIRECTORY_MODE);
    await replaceDurably(machine.files, paths.configuration, Buffer.from(text), FILE_MODE);
    await replaceDurably(machine.files, paths.manifest, Buffer.from(manifest), FILE_MODE);
  } catch (error) {
    return fail(context, unwritable(error, directory));
  }
  terminal.print(`Wrote ${paths.configuration}`);
  terminal.print(`Wrote ${paths.manifest}`);
  const unlisted = findings.find(({ id }) => id === "type_id_unlisted");
  if (unlisted !== undefined) terminal.warning(unlisted.message);
  for (const path of await missingFiles(given, task)) terminal.warning(`the file does not exist: ${path}`);

  // Only a complete configuration tells where the key belongs.
  const hasPerson = questions !== null && image === null && configuration !== null;
  const tried = answers.url === null ? NOT_TRIED : await tryKey(answers, hasPerson && options.enroll !== true, task);
  if (hasPerson && !wereRegionsShown && tried.regionsInstead.length > 0)
    await offerRegions(tried.regionsInstead, answers, task);
  const open = findings.filter(({ id }) => id === "placeholder").length;
  if (
    open === 0 &&
    isComplete(answers) &&
    (options.enroll === true || (tried.canEnroll && (await offerEnrolment(task))))
  )
    return enroll({ ...options, config: paths.configuration }, context);
  const steps = await nextSteps(open, answers.files.length > 0, tried.hasKey, task);
  terminal.print("Next:");
  for (const [index, step] of steps.entries()) {
    const line = `  ${index + 1}. ${step}`;
    // The steps of an image are for another machine, where the flags of this command do not apply.
    if (image === null) terminal.print(line);
    else terminal.printText(line);
  }
  if (options.enroll !== true) return EXIT.ok;
  terminal.problem(NOT_ENROLLED);
  return EXIT.invalid;
}

/** The files of an image must not become those of this computer. */
async function findWayOut(image: string | null, directory: string): Promise<Problem | null> {
  if (image === null || !(await leadsOut(image, directory))) return null;
  const what = "this folder of the image leads out of it by a link, to what belongs to this computer";
  return {
    code: "leads-out",
    what,
    where: directory,
    fix: "replace that link by a folder, or run init within the image",
  };
}

/** Where the value of a flag is in the two files. */
const FLAGS = [
  ["/service/url", "--url"],
  ["/service/ca_file", "--ca-file"],
  ["/service/key_file", "--key-file"],
  ["/service/proxy", "--proxy"],
  ["/service/enrolment_key_file", "--enrolment-key"],
  ["/robot/region", "--region"],
  ["/robot/name", "--name"],
  ["/robot/site", "--site"],
  ["/robot/labels", "--label"],
  ["/robot_type_id", "--type"],
  ["/configuration_files", "--file"],
] as const;

/** What is wrong with the flags, all at once, before a person answers a question. */
async function wrongFlags(given: Answers, task: Task): Promise<readonly Problem[]> {
  const { findings } = await documentsOf(given, task);
  const wrong = findings.filter((finding) => isError(finding) && finding.id !== "placeholder");
  const flagOf = ({ loc }: { readonly loc: string }) => FLAGS.find(([place]) => loc.startsWith(place))?.[1] ?? loc;
  const problems = wrong.map((finding): Problem => {
    const { message, id } = finding;
    const flag = flagOf(finding);
    const fix = ["correct the flag; nothing was written"];
    if (flag === "--type") {
      const choice = chooseType(given.type ?? "", READY_CATALOG);
      fix.push(
        ...(choice.kind === "type" ? [`did you mean ${choice.id}?`] : []),
        ...(choice.kind === "open" && choice.closest !== undefined ? [choice.closest] : []),
        "all types: robot-policy-agent catalog",
      );
    }
    if (id === "insecure_url") fix.push("to allow plain http on a network that you trust: --allow-insecure");
    return { code: "bad-answer", what: `${flag}: ${withoutLine(message)}`, fix: fix.join("; ") };
  });
  const { type, unit } = given;
  if (holdsCredentials(task.options.proxy ?? "")) {
    const what = "--proxy: user name and password would be in a file that everybody can read";
    problems.push({
      code: "bad-answer",
      what,
      fix: "leave it out, write service.proxy yourself, and chmod 640 the file",
    });
  }
  const noLabel = task.options.label?.find((text) => !text.includes("="));
  if (noLabel !== undefined) {
    problems.push({ code: "bad-answer", what: `--label: ${shown(noLabel)} has no =`, fix: "write --label NAME=VALUE" });
  }
  const isTypeWrong = wrong.some((finding) => flagOf(finding) === "--type");
  if (unit !== null && type !== null && !isTypeWrong && lerobotUnit(type) === null) {
    const what = `--unit: ${type} is not a LeRobot type`;
    problems.push({ code: "bad-answer", what, fix: "leave it out; units are in the manifest" });
  }
  if (task.options.extend === true && type !== null && !READY_CATALOG.has(type)) {
    const fix = "list the types that can be extended: robot-policy-agent catalog";
    problems.push({ code: "bad-answer", what: `--extend: the catalog has no type ${type}`, fix });
  }
  if (task.image !== null && task.options.enroll === true) {
    const fix = "leave it out; robots of an image enroll at their first boot, by service.enrolment_key_file";
    problems.push({ code: "usage", what: "--enroll is for a robot, not for an image", fix });
  }
  return problems;
}

/** The two files that these answers give, and what their readers find. */
async function documentsOf(answers: Answers, task: Task) {
  const { text, findings, configuration } = configurationOf(answers, task);
  const manifest = await manifestOf(answers, task.options);
  const { findings: more } = await readManifest(Buffer.from(manifest), READY_CATALOG);
  return { text, manifest, configuration, findings: [...findings, ...more] };
}

const NOT_ENROLLED: Problem = {
  code: "not-enrolled",
  what: "the robot is not enrolled, because the two files are not complete",
  fix: "take the steps above",
};

function readFlags(options: InitOptions): Answers {
  const { url = null, caFile, region = null, name = null, type = null, unit = null, file = [] } = options;
  return { url, caFile: caFile === undefined ? null : absolute(caFile), region, name, type, unit, files: file };
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
      kindOf: (path) => kindOf(machine.files, absolute(path)),
      test: task.isTested ? test : null,
      allowInsecure: task.options.allowInsecure === true,
      hostname: task.image === null ? machine.identity.hostname() : null,
      regions: () => regions,
    });
    return { answers, wereRegionsShown: given.region === null && regions.length > 0 };
  } finally {
    questions.close();
  }
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
      ? stepsHere(options.dir === undefined ? null : paths.configuration, isStandard, hasKey)
      : await stepsInImage(context.machine.files, paths, image, context.program)),
  ];
}

async function manifestOf(answers: Answers, options: InitOptions): Promise<string> {
  const files = answers.files.map((path) => ({ label: null, path: absolute(path) }));
  const base = await baseFor(answers, options);
  return base === null
    ? manifestText({ robotTypeId: answers.type, displayName: null, files }, HINT)
    : extendedManifestText({ base, unit: answers.unit, files }, HINT);
}

/** The type to extend: with --extend, when the type is not known to be hosted, and for joints in another unit than its own. */
async function baseFor({ type, unit }: Answers, { extend }: InitOptions): Promise<CatalogRow | null> {
  const isOwn = extend === true || unit === "calibrated_range";
  if (type === null || (!isOwn && READY_CATALOG.get(type)?.hosted !== false)) return null;
  const rows = await loadCatalog();
  return rows.find(({ robot_type_id: robotTypeId }) => robotTypeId === type) ?? null;
}

/** Files of flags that do not exist; those of questions were looked at when they were answered. An image may get them later. */
async function missingFiles({ files }: Answers, { image, context }: Task): Promise<readonly string[]> {
  if (image !== null) return [];
  const paths = files.filter((path) => !path.startsWith("~/")).map(absolute);
  const kinds = await Promise.all(paths.map((path) => kindOf(context.machine.files, path)));
  return paths.filter((_, index) => kinds[index] === null);
}

function fail({ terminal }: InitContext, problem: Problem): ExitCode {
  terminal.problem(problem);
  return EXIT.failed;
}
