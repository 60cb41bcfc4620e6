/** The questions of `init` at a terminal. An empty answer leaves a placeholder in the file. */
import type { Option } from "@clack/prompts";

import { JOINT_UNITS, type JointUnit, lerobotUnit, READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { isPattern } from "../../look/patterns.ts";
import { FILE_COUNT } from "../../manifest/configuration-files.ts";
import type { FileStat } from "../../platform/files/files.ts";
import type { Person } from "../../platform/terminal.ts";
import { DEFAULTS } from "../configuration/keys.ts";
import { absolute, type Answers, hasOtherLimits, isComplete, isUnitOpen, wrongAnswers } from "./answers.ts";
import type { Candidate } from "./detect/detection.ts";
import { isSure, type ProposedDevice } from "./detect/devices.ts";
import { adopt } from "./detect/proposal.ts";
import { findTypes } from "./type-choice.ts";

/** How the robot gets a credential; `later` leaves it to the next steps. */
export type CredentialChoice = "enroll" | "key" | "later";

export interface Interview {
  readonly person: Person;
  readonly signal: AbortSignal;
  /** Name of this computer; null where it is not the robot. */
  readonly hostname: string | null;
  /** Whether to ask for a credential, if the other answers suffice for one. */
  readonly wantsCredential: boolean;
  /** Robots that were found. */
  readonly candidates: readonly Candidate[];
  readonly devices: readonly ProposedDevice[];
  /** What is at the path, links followed; null when nothing can be seen there. */
  kindOf(path: string): Promise<FileStat["kind"] | null>;
  /** The regions of the service with this address; empty where it does not tell. */
  regionsOf(answers: Answers): Promise<readonly string[]>;
}

export interface Interviewed {
  readonly answers: Answers;
  readonly credential: CredentialChoice;
}

/** The person ended the questions. */
class Cancelled extends Error {
  override readonly name = "Cancelled";
}

const CTRL_D = "\u0004";
const LATER = "later";
const OR_LATER = "Enter alone: later";

/** Asks for what is missing. @returns null when the person ended the questions; nothing must be written then. */
export async function interview(given: Answers, task: Interview): Promise<Interviewed | null> {
  try {
    const prompts = await openPrompts(task);
    let answers = given;
    if (task.candidates.length > 0) answers = await askProposal(answers, task.candidates, prompts);
    if (answers.url === null) answers = { ...answers, url: await askUrl(answers, prompts) };
    if (answers.region === null) {
      const regions = answers.url === null ? [] : await task.regionsOf(answers);
      answers = { ...answers, region: await askRegion(answers, regions, prompts) };
    }
    if (answers.name === null) answers = { ...answers, name: await askName(answers, task.hostname, prompts) };
    if (answers.type === null) answers = { ...answers, type: await askType(answers, prompts) };
    if (isUnitOpen(answers)) answers = { ...answers, unit: await askUnit(answers, prompts) };
    if (hasOtherLimits(answers)) answers = { ...answers, isExtended: await prompts.confirm(OWN_LIMITS) };
    if (answers.files.length === 0) answers = { ...answers, files: await askFiles(answers, task, prompts) };
    if (task.devices.length > 0) answers = { ...answers, devices: await askDevices(task.devices, prompts) };
    const credential = task.wantsCredential && isComplete(answers) ? await askCredential(prompts) : LATER;
    return { answers, credential };
  } catch (error) {
    if (error instanceof Cancelled) return null;
    throw error;
  }
}

function askUrl(answers: Answers, { ask }: Prompts): Promise<string | null> {
  const fix = answers.allowInsecure ? "" : "; for plain http begin again with --allow-insecure";
  return ask("Address of the service", `https://HOST · ${OR_LATER}`, async (url) => {
    const wrong = await wrongAt("--url", { ...answers, url });
    return wrong?.id === "insecure_url" ? `${wrong.what}${fix}` : wrong?.what;
  });
}

function askRegion(answers: Answers, regions: readonly string[], prompts: Prompts): Promise<string | null> {
  const message = "Cloud region nearest to the robot";
  const check = async (region: string) => (await wrongAt("--region", { ...answers, region }))?.what;
  if (regions.length === 0) return prompts.ask(message, OR_LATER, check);
  const found = (words: string) =>
    regions.filter((region) => region.includes(words)).map((region) => ({ value: region }));
  return prompts.search(message, found, "the service has no endpoint there yet", check);
}

async function askName(answers: Answers, hostname: string | null, { ask }: Prompts): Promise<string | null> {
  const standard = DEFAULTS.robot.name;
  const here = hostname === null ? "" : ` (here: ${standard.replaceAll("{hostname}", hostname)})`;
  const check = async (name: string) => (await wrongAt("--name", { ...answers, name }))?.what;
  return ask("Name of the robot", `Enter alone: ${standard}${here}`, check);
}

const OWN_LIMITS = "Write the ranges of the calibration as limits? The type is then one of your own that extends it";

async function askProposal(answers: Answers, candidates: readonly Candidate[], { choose }: Prompts): Promise<Answers> {
  const offers = candidates.map(({ key, robot, type, differs, files }) => {
    const ofType = differs === null && type !== null ? type : "type: asked next";
    return { value: key, label: `${robot}, ${ofType}; files: ${files.length}` };
  });
  const none = { value: LATER, label: "neither type nor files from these" };
  const chosen = await choose("Take what was found", [...offers, none]);
  const found = candidates.find(({ key }) => key === chosen);
  return found === undefined ? answers : adopt(answers, found);
}

function askDevices(devices: readonly ProposedDevice[], { pick }: Prompts): Promise<readonly string[]> {
  const options = devices.map(({ entry, reason, question }) => ({
    value: entry,
    label: question === null ? reason : `${reason}: ${question}`,
  }));
  const sure = devices.filter(isSure).map(({ entry }) => entry);
  return pick("Devices to list (Space: add or leave out)", options, sure);
}

function askType(answers: Answers, { search }: Prompts): Promise<string | null> {
  const found = (words: string) =>
    findTypes(words, READY_CATALOG).map(({ id, name, differs }) => ({
      value: id,
      label: `${name}: ${id}`,
      hint: differs === null ? "" : `close; begin again with --type ${id} --extend: ${differs}`,
    }));
  const check = async (type: string) => (await wrongAt("--type", { ...answers, type }))?.what;
  return search(
    "Type of the robot, by its id or a word of its name",
    found,
    "an id of your own, for a type that the manifest describes",
    check,
  );
}

async function askUnit({ type }: Answers, { choose }: Prompts): Promise<JointUnit | null> {
  const units = type === null ? null : lerobotUnit(type);
  const options = JOINT_UNITS.map((unit) => ({ value: unit, label: units?.[unit] ?? unit }));
  const chosen = await choose("What its joints are in", [...options, { value: LATER }]);
  return JOINT_UNITS.find((unit) => unit === chosen) ?? null;
}

/** Asks one by one, in digest order. */
async function askFiles(answers: Answers, task: Interview, prompts: Prompts): Promise<readonly string[]> {
  const usual = READY_CATALOG.get(answers.type ?? "")?.files[0];
  const example = usual === undefined ? "calibration, limits" : `usually ${usual}`;
  const files: string[] = [];
  while (files.length < FILE_COUNT.maximum) {
    const hint = files.length === 0 ? `${example} · ${OR_LATER}` : "Enter alone: no more";
    const path = await askFile(`Configuration file ${files.length + 1}`, hint, { ...answers, files }, task, prompts);
    if (path === null) break;
    files.push(path);
  }
  return files;
}

/** A path where no file is yet is listed only if the person confirms it. */
async function askFile(
  message: string,
  hint: string,
  answers: Answers,
  { kindOf }: Interview,
  { ask, confirm }: Prompts,
): Promise<string | null> {
  const lookAt = (path: string) => (path.startsWith("~/") || isPattern(path) ? "file" : kindOf(absolute(path)));
  let written = "";
  for (;;) {
    const path = await ask(
      message,
      hint,
      async (each) => {
        const wrong = await wrongAt("--file", { ...answers, files: [...answers.files, each] });
        if (wrong !== undefined) return wrong.what;
        return (await lookAt(each)) === "directory" ? "It is a folder; list the files in it that matter" : undefined;
      },
      written,
    );
    if (path === null || (await lookAt(path)) !== null) return path;
    if (await confirm(`There is no file ${path}. List it all the same?`)) return path;
    written = path;
  }
}

async function askCredential({ choose }: Prompts): Promise<CredentialChoice> {
  const chosen = await choose("How the robot proves who it is", [
    { value: "enroll", label: "a credential of its own", hint: "enroll now: an operator approves a code" },
    { value: "key", label: "an API key", hint: "typed in now, not shown" },
    { value: LATER },
  ]);
  return chosen === "enroll" || chosen === "key" ? chosen : LATER;
}

async function wrongAt(flag: string, answers: Answers) {
  return (await wrongAnswers(answers)).find((wrong) => wrong.flag === flag);
}

/** The options that these words may mean; all without words. */
type Search = (words: string) => Option<string>[];
/** What is wrong with an answer. */
type Check = (answer: string) => Promise<string | undefined>;
type Prompts = Awaited<ReturnType<typeof openPrompts>>;

/** The prompts of the library, on the terminal of this person. All throw `Cancelled`. */
async function openPrompts({ person, signal }: Interview) {
  const { autocomplete, confirm, multiselect, select, text, updateSettings } = await import("@clack/prompts");
  // Otherwise Node ends the input at Ctrl-D, and the prompt waits for ever; as it does when the terminal is gone.
  updateSettings({ aliases: { [CTRL_D]: "cancel" } });
  const ended = new AbortController();
  person.input.once("end", () => ended.abort());
  const common = { ...person, signal: AbortSignal.any([signal, ended.signal]) };
  const checked = (check: Check) => async (written: unknown) => {
    const answer = unquoted(String(written ?? ""));
    return answer === "" ? undefined : check(answer);
  };
  return {
    async ask(message: string, placeholder: string, check: Check, initialValue = ""): Promise<string | null> {
      const written = await text({ ...common, message, placeholder, initialValue, validate: checked(check) });
      return unquoted(answered<string>(written)) || null;
    },
    /** A list that is narrowed by typing, which also takes what is not in it. */
    async search(message: string, found: Search, otherwise: string, check: Check): Promise<string | null> {
      const written = await autocomplete<string>({
        ...common,
        message,
        // Enter alone takes the first option.
        options() {
          const words = unquoted(this.userInput);
          if (words === "") return [{ value: "", label: LATER }, ...found("")];
          const offers = found(words);
          const isListed = offers.some(({ value }) => value === words);
          return isListed ? offers : [...offers, { value: words, label: `${words}: ${otherwise}` }];
        },
        // The options are found already.
        filter: () => true,
        validate: checked(check),
      });
      return answered<string>(written) || null;
    },
    async choose(message: string, options: Option<string>[]): Promise<string> {
      return answered<string>(await select<string>({ ...common, message, options }));
    },
    /** Any of the options. */
    async pick(message: string, options: Option<string>[], initialValues: string[]): Promise<readonly string[]> {
      return answered<string[]>(
        await multiselect<string>({ ...common, message, options, initialValues, required: false }),
      );
    },
    async confirm(message: string): Promise<boolean> {
      return answered<boolean>(await confirm({ ...common, message, initialValue: false }));
    },
  };
}

/** The library answers with a symbol when the person, or the signal, ended the prompt. */
function answered<Value extends string | boolean | readonly string[]>(answer: Value | symbol): Value {
  if (typeof answer === "symbol") throw new Cancelled();
  return answer;
}

/** A terminal puts quotes around a path that is dragged into it. */
function unquoted(text: string): string {
  return text.trim().replace(/^(['"])(.*)\1$/, "$2");
}
