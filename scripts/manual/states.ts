/** The states of the agent. Their exit codes are the agent's own. */
import { STATES } from "../../src/agent/states.ts";
import type { AgentState } from "../../src/agent/status.ts";
import { type Section, table, text } from "./section.ts";

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

export const stateSection: Section = {
  title: "States",
  blocks: [
    text("What `status` shows. `starting`, `settling` and `registering` pass within a minute."),
    table(
      ["state", "meaning", "the agent", "exit code"],
      Object.entries(WORDS).map(([state, { meaning, action }]) => [
        `\`${state}\``,
        meaning,
        action,
        String(EXITS[state]?.exit),
      ]),
    ),
    text(
      "A robot that could not get a code yet has the exit code of the cause: 4 while the service is unreachable, 1 for its own disk. " +
        "While a disk or network drive does not answer, the exit code is 1.",
    ),
  ],
};
