/** The states of the agent, for src/agent/README.md and the man page. Their exit codes are the agent's own. */
import { STATES } from "../../src/agent/states.ts";
import type { AgentState } from "../../src/agent/status.ts";
import { bold, prose, term } from "./roff.ts";

interface StateWords {
  readonly meaning: string;
  readonly action: string;
}

/** In the order of the table: what lasts, then what passes by itself within a minute. Backquotes mark what can be typed. */
const WORDS: Readonly<Record<AgentState, StateWords>> = {
  registered: {
    meaning: "the service took what is on the disk; `status` tells when it last confirmed it",
    action: "watches",
  },
  unreachable: {
    meaning: "no answer, or not the service's",
    action: "tries again after 1 s … 5 min, or when the service says",
  },
  unauthorized: {
    meaning: "the key is missing or not accepted",
    action: "tries every 5 min, at once when the key file changes",
  },
  "waiting-for-approval": {
    meaning: "an operator has to approve the code that `status` shows",
    action: "asks every few seconds; a code that expires is followed by another",
  },
  unenrolled: {
    meaning: "the robot was denied, replaced or removed",
    action: "asks again every hour, unless denied; `enroll` or a restart asks anew",
  },
  frozen: {
    meaning: "two computers used this robot's credential",
    action: "asks again every 5 min and by `--setup`; `enroll` the right one, or an operator thaws it",
  },
  lapsed: {
    meaning: "the robot was away for longer than the service allows",
    action: "asks again every 5 min and by `--setup`, until an operator allows it",
  },
  "identity-unreadable": {
    meaning: "files of the robot's identity cannot be read, or are open to other users",
    action: "tries again every minute (`resync_s`)",
  },
  rejected: {
    meaning: "the service refuses the content; the findings name file, line and column",
    action: "tries again when an input changes, else hourly",
  },
  misconfigured: { meaning: "404 or 405: probably not a robot policy service", action: "does as when unauthorized" },
  conflict: { meaning: "the service reports a conflict", action: "does as when rejected" },
  "other-machine": {
    meaning: "the state was written on another machine",
    action: "sends nothing; `rebind` makes it a new robot (`--same-robot` the same robot)",
  },
  "other-name": {
    meaning: "the name changed, which would make a second robot",
    action: "sends nothing; set it back, or `rebind`",
  },
  held: {
    meaning: "somebody calibrates (`hold`); `status` says who, why and until when",
    action: "registers once the hold is released, or its time is over",
  },
  invalid: {
    meaning: "a file is wrong, perhaps since an edit",
    action: "sends nothing; the last registration stays",
  },
  draft: { meaning: "the manifest says `status: draft`", action: "sends nothing; the last registration stays" },
  stopped: { meaning: "no agent runs, and no timer looks", action: "does nothing" },
  "rate-capped": {
    meaning: "the files change again and again",
    action: "waits, then registers their last state",
  },
  starting: { meaning: "the agent has just started", action: "reads its files" },
  settling: {
    meaning: "the files do not hold still yet",
    action: "waits for seconds, or up to a minute while a program keeps a file open",
  },
  registering: {
    meaning: "the request is on its way, or goes with the timer's next look",
    action: "waits for the answer",
  },
};

const EXITS: Readonly<Record<string, { readonly exit: number }>> = STATES;
const ROWS = Object.entries(WORDS).map(([state, { meaning, action }]) => {
  return { state, meaning, action, exit: String(EXITS[state]?.exit) };
});

/** The table of src/agent/README.md, aligned as oxfmt does it. */
export function statesTable(): string {
  const rows = [
    ["state", "meaning", "what the agent does", "exit"],
    ...ROWS.map(({ state, meaning, action, exit }) => [state, meaning, action, exit]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const [head = "", ...body] = rows.map((row) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 3 ? cell.padStart(width) : cell.padEnd(width);
    });
    return `| ${cells.join(" | ")} |`;
  });
  const rule = widths.map((width, column) => (column === 3 ? `${"-".repeat(width - 1)}:` : "-".repeat(width)));
  return [head, `| ${rule.join(" | ")} |`, ...body].join("\n");
}

/** The same for the man page, without marks. */
export function describeStates(): readonly string[] {
  return ROWS.flatMap(({ state, meaning, action, exit }) => {
    const text = `${meaning}. The agent ${action}. Exit status ${exit}.`.replaceAll("`", "");
    return term(bold(state), prose(text.charAt(0).toUpperCase() + text.slice(1)));
  });
}
