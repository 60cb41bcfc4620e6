/** The questions of `init`. An answer of null leaves a placeholder in the file. */
import { JOINT_UNITS, type JointUnit, lerobotUnit, TYPE_HINTS } from "../../manifest/catalog/hints.ts";
import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { FILE_COUNT } from "../../manifest/configuration-files.ts";
import type { FileStat } from "../../platform/files/files.ts";
import type { Questions } from "../../platform/questions.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { DEFAULTS } from "../configuration/keys.ts";
import { noEndpointIn } from "../doctor/asking.ts";
import type { CheckId } from "../doctor/check.ts";
import {
  absolute,
  caFileProblem,
  fileProblem,
  nameProblem,
  regionProblem,
  typeProblem,
  urlProblem,
} from "./answer-problems.ts";
import { chooseType, typeLines } from "./type-choice.ts";

/** The answers that `init` needs; null for unknown ones. */
export interface Answers {
  readonly url: string | null;
  readonly caFile: string | null;
  readonly region: string | null;
  /** Template of the robot's name. */
  readonly name: string | null;
  readonly type: string | null;
  /** What the joints of a LeRobot robot are in. */
  readonly unit: JointUnit | null;
  /** In digest order. */
  readonly files: readonly string[];
}

/** A failed check of the service. */
export interface ServiceFailure {
  readonly id: CheckId;
  readonly what: string;
  readonly remedy: string;
  /** True when another `service.ca_file` is needed. */
  readonly isAboutAuthority: boolean;
}

/** The terminal, and the tests that run during the questions. */
export interface Interviewer extends Asker {
  /** What is at the path, links followed; null when nothing is. */
  kindOf(path: string): Promise<FileStat["kind"] | null>;
  /** Tests the address with these certificates; null to skip tests. */
  readonly test: ((url: string, caFile: string | null) => Promise<ServiceFailure | null>) | null;
  /** Whether an address may be plain http to another machine. */
  readonly allowInsecure: boolean;
  /** Name of this computer; null where it is not the robot. */
  readonly hostname: string | null;
  /** The regions of the tested service; empty when it does not tell, as without a key. */
  regions(): readonly string[];
}

const TAKE_BACK = "-";

/** Tested at once, while the person can still correct it. */
export async function askAddress(
  givenCaFile: string | null,
  interviewer: Interviewer,
): Promise<Pick<Answers, "url" | "caFile">> {
  const { terminal, test, allowInsecure } = interviewer;
  const problemOf = (answer: string) => urlProblem(answer, allowInsecure);
  let caFile = givenCaFile;
  let url = await ask("Address of the service (https://HOST): ", problemOf, interviewer);
  if (url === null) return { url, caFile };
  if (test === null) {
    if (caFile === null && url.startsWith("https:"))
      caFile = await askCaFile("Certificate of your own authority, a PEM file (Enter alone: none): ", interviewer);
    return { url, caFile };
  }
  for (;;) {
    terminal.note(`Trying ${url} …`);
    const failure = await test(url, caFile);
    if (failure === null) {
      terminal.note(`${url} answers${url.startsWith("https:") ? ", and its certificate is trusted" : ""}.`);
      return { url, caFile };
    }
    terminal.note(failure.what);
    terminal.note(`  → ${failure.remedy}`);
    if (failure.isAboutAuthority) {
      const next = await askCaFile("Certificate of that authority, a PEM file (Enter alone: later): ", interviewer);
      if (next === null) return { url, caFile };
      caFile = next;
    } else {
      const next = await ask(`Another address (Enter alone: keep ${url}): `, problemOf, interviewer);
      if (next === null) return { url, caFile };
      url = next;
    }
  }
}

async function askCaFile(question: string, interviewer: Interviewer): Promise<string | null> {
  const path = await ask(question, caFileProblem, interviewer);
  return path === null ? null : absolute(path);
}

export async function askRegion(regions: readonly string[], asker: Asker): Promise<string | null> {
  const question = "Cloud region nearest to the robot";
  if (regions.length === 0) return ask(`${question}: `, regionProblem, asker);
  return askListedRegion(`${question} (a number or a code): `, regions, asker);
}

async function askListedRegion(question: string, regions: readonly string[], asker: Asker): Promise<string | null> {
  for (const line of regionLines(regions)) asker.terminal.note(line);
  const answer = await ask(question, (written) => listedRegionProblem(written, regions), asker);
  if (answer === null) return null;
  const region = regionOf(answer, regions);
  if (!regions.includes(region)) asker.terminal.note(`${noEndpointIn(region, regions)}.`);
  return region;
}

/** @returns null when the person keeps the configured region. */
export function askAnotherRegion(regions: readonly string[], asker: Asker): Promise<string | null> {
  return askListedRegion("Another region (a number or a code; Enter alone: keep it): ", regions, asker);
}

/** The name that the template gives here. */
export function shownName(template: string, hostname: string | null): string {
  const name = hostname === null ? template : template.replaceAll("{hostname}", hostname);
  return name === template ? template : `${template} (here: ${name})`;
}

export function askName(interviewer: Interviewer): Promise<string | null> {
  const standard = shownName(DEFAULTS.robot.name, interviewer.hostname);
  return ask(`Name of the robot (Enter alone: ${standard}): `, nameProblem, interviewer);
}

/** Asks for the type, unless it is given, and for what depends on it. */
export async function askType(
  given: Pick<Answers, "type" | "unit">,
  interviewer: Interviewer,
): Promise<Pick<Answers, "type" | "unit">> {
  const type = given.type ?? (await askTypeId(interviewer));
  const units = type === null ? null : lerobotUnit(type);
  if (units === null) return { type, unit: null };
  const { terminal } = interviewer;
  for (const [index, unit] of JOINT_UNITS.entries()) terminal.note(`${String(index + 1).padStart(3)}  ${units[unit]}`);
  const unitOf = (answer: string) => JOINT_UNITS.find((unit, index) => answer === unit || answer === `${index + 1}`);
  const problemOf = (answer: string) => (unitOf(answer) === undefined ? "Answer 1 or 2." : null);
  const answer = await ask("What its joints are in (1 or 2): ", problemOf, interviewer);
  return { type, unit: answer === null ? null : (unitOf(answer) ?? null) };
}

async function askTypeId(interviewer: Interviewer): Promise<string | null> {
  const { terminal } = interviewer;
  for (const line of typeLines(READY_CATALOG)) terminal.note(line);
  const question = "Type of the robot (a number, words to search for, or your own id): ";
  for (;;) {
    const answer = await ask(question, () => null, interviewer);
    if (answer === null) return null;
    const choice = chooseType(answer, READY_CATALOG);
    switch (choice.kind) {
      case "type":
        if (choice.id !== answer) terminal.note(`  → ${choice.id}`);
        return choice.id;
      case "open":
        for (const line of choice.lines) terminal.note(line);
        break;
      case "unlisted": {
        const problem = await typeProblem(answer);
        if (problem === null) return answer;
        terminal.note(`Nothing in the list matches, and as an id: ${problem}`);
        terminal.note("For another robot enter an id of your own, and describe it in the manifest afterwards.");
      }
    }
  }
}

/** Asks one by one, in digest order. A missing file is reported, and listed if the person confirms it. */
export async function askFiles(type: string | null, interviewer: Interviewer): Promise<readonly string[]> {
  const { terminal } = interviewer;
  terminal.note("Configuration files: those that affect how commands become motion, such as calibration and limits.");
  const usual = type === null ? undefined : TYPE_HINTS.get(type);
  if (usual !== undefined) terminal.note("Usual for this type:");
  for (const path of usual?.files ?? []) terminal.note(`  ${path}`);
  const files: string[] = [];
  while (files.length < FILE_COUNT.maximum) {
    const takeBack = files.length === 0 ? "" : `; ${TAKE_BACK} takes the last one back`;
    const question = `Configuration file ${files.length + 1} (Enter alone: no more${takeBack}): `;
    const path = await ask(
      question,
      async (answer) => (answer === TAKE_BACK && files.length > 0 ? null : fileProblem(answer, files)),
      interviewer,
    );
    if (path === null) break;
    if (path === TAKE_BACK) files.pop();
    else files.push(await confirmFile(path, files, interviewer));
  }
  return files;
}

async function confirmFile(path: string, before: readonly string[], interviewer: Interviewer): Promise<string> {
  const { terminal, kindOf } = interviewer;
  const problemOf = (answer: string) => fileProblem(answer, before);
  let current = path;
  while (!current.startsWith("~/")) {
    const kind = await kindOf(current);
    if (kind === "file") break;
    terminal.note(
      kind === "directory"
        ? `A folder; list the files in it that matter, one by one: ${current}`
        : `The file does not exist: ${current}`,
    );
    const next = await ask("The right path (Enter alone: list it all the same): ", problemOf, interviewer);
    if (next === null) break;
    current = next;
  }
  return current;
}

export interface Asker {
  readonly questions: Questions;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

/** Attempts per question, so that input from a script ends. */
const ATTEMPTS = 20;
/** The input ended, or all attempts failed. */
export class GaveUp extends Error {
  override readonly name = "GaveUp";
}

/** @returns null when the person skips it. @throws GaveUp */
export async function ask(
  question: string,
  problemOf: (answer: string) => string | null | Promise<string | null>,
  { questions, terminal, signal }: Asker,
): Promise<string | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const line = await questions.ask(question);
    signal.throwIfAborted();
    if (line === null) throw new GaveUp();
    // A terminal puts quotes around a path that is dragged into it.
    const written = line.trim().replace(/^(['"])(.*)\1$/, "$2");
    if (written === "") return null;
    const problem = await problemOf(written);
    if (problem === null) return written;
    terminal.note(problem);
  }
  throw new GaveUp();
}

/** The regions to choose from, one line each. */
export function regionLines(regions: readonly string[]): readonly string[] {
  return regions.map((region, index) => `${String(index + 1).padStart(3)}  ${region}`);
}

/** The region for an answer: by number, or by a code, which need not be in the list. */
export function regionOf(answer: string, regions: readonly string[]): string {
  if (regions.includes(answer) || !isNumber(answer)) return answer;
  return regions[Number(answer) - 1] ?? answer;
}

export function listedRegionProblem(answer: string, regions: readonly string[]): string | null {
  const region = regionOf(answer, regions);
  if (regions.includes(region)) return null;
  return isNumber(region) ? `There is no number ${region}: 1 to ${regions.length}.` : regionProblem(region);
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}
