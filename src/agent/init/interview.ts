import { lerobotUnit } from "../../manifest/catalog/hints.ts";
import { DEFAULTS } from "../configuration/keys.ts";
import {
  type Answers,
  ask,
  askAddress,
  askFiles,
  askName,
  askRegion,
  askType,
  GaveUp,
  type Interviewer,
  shownName,
} from "./questions.ts";

/**
 * Asks for missing values, then shows all answers until the person accepts them.
 *
 * @returns null when the person aborted; nothing must be written then.
 */
export async function interview(given: Answers, interviewer: Interviewer): Promise<Answers | null> {
  const { terminal } = interviewer;
  let answers = given;
  let wasTypeAsked = false;
  const topics: readonly Topic[] = [
    {
      label: "address",
      isGiven: given.url !== null,
      show: () => [answers.url ?? LATER, ...(answers.caFile === null ? [] : [`trusting ${answers.caFile}`])],
      async ask() {
        answers = { ...answers, ...(await askAddress(given.caFile, interviewer)) };
      },
    },
    {
      label: "region",
      isGiven: given.region !== null,
      show: () => [answers.region ?? LATER],
      async ask() {
        answers = { ...answers, region: await askRegion(interviewer.regions(), interviewer) };
      },
    },
    {
      label: "name",
      isGiven: given.name !== null,
      show: () => [shownName(answers.name ?? DEFAULTS.robot.name, interviewer.hostname)],
      async ask() {
        answers = { ...answers, name: await askName(interviewer) };
      },
    },
    {
      label: "type",
      isGiven: given.type !== null && (given.unit !== null || lerobotUnit(given.type) === null),
      show: () => [answers.type ?? LATER, ...unitLines(answers)],
      async ask() {
        answers = { ...answers, ...(await askType(wasTypeAsked ? NO_TYPE : given, interviewer)) };
        wasTypeAsked = true;
      },
    },
    {
      label: "files",
      isGiven: given.files.length > 0,
      show: () => (answers.files.length === 0 ? [LATER] : answers.files),
      async ask() {
        answers = { ...answers, files: await askFiles(answers.type, interviewer) };
      },
    },
  ];
  try {
    terminal.note(
      "Press Enter to skip a question; the file then has a placeholder. Ctrl-D ends without writing anything.",
    );
    for (const topic of topics) if (!topic.isGiven) await topic.ask();
    await review(topics, interviewer);
    return answers;
  } catch (error) {
    if (error instanceof GaveUp) return null;
    throw error;
  }
}

interface Topic {
  readonly label: string;
  readonly isGiven: boolean;
  show(): readonly string[];
  ask(): Promise<void>;
}

const LATER = "(later)";
const NO_TYPE = { type: null, unit: null };

function unitLines({ type, unit }: Answers): readonly string[] {
  const units = type === null ? null : lerobotUnit(type);
  if (units === null) return [];
  return [`joints in ${unit === null ? LATER : units[unit]}`];
}

async function review(topics: readonly Topic[], interviewer: Interviewer): Promise<void> {
  const { terminal } = interviewer;
  const width = Math.max(...topics.map(({ label }) => label.length));
  for (;;) {
    for (const [index, { label, show }] of topics.entries()) {
      const [first = "", ...more] = show();
      terminal.note(`${String(index + 1).padStart(3)}  ${label.padEnd(width)}  ${first}`);
      for (const line of more) terminal.note(`${" ".repeat(width + 7)}${line}`);
    }
    const number = await ask(
      "Enter writes the files; a number changes that answer: ",
      (answer) =>
        topics[Number(answer) - 1] === undefined ? `There is no number ${answer}: 1 to ${topics.length}.` : null,
      interviewer,
    );
    if (number === null) return;
    await topics[Number(number) - 1]?.ask();
  }
}
