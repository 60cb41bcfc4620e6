import { type Answers, ask, askAddress, askFiles, askRegion, askType, GaveUp, type Interviewer } from "./questions.ts";

/**
 * Asks for missing values, then shows all answers until the person accepts them.
 *
 * @returns null when the person aborted; nothing must be written then.
 */
export async function interview(given: Answers, interviewer: Interviewer): Promise<Answers | null> {
  const { terminal } = interviewer;
  let answers = given;
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
      label: "type",
      isGiven: given.type !== null,
      show: () => [answers.type ?? LATER],
      async ask() {
        answers = { ...answers, type: await askType(interviewer) };
      },
    },
    {
      label: "files",
      isGiven: given.files.length > 0,
      show: () => (answers.files.length === 0 ? [LATER] : answers.files),
      async ask() {
        answers = { ...answers, files: await askFiles(interviewer) };
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
