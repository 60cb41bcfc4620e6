import type { Answer, SentRequest } from "../machine/network.ts";
import type { Incarnation, Witness, World } from "../world.ts";

/** Lines for a start, and per thing that happened outside: states, findings and their ends. */
const LINES_PER_START = 16;
const LINES_PER_DISTURBANCE = 8;
/** A status document is looked at every so many steps. */
const STATUS_PERIOD = 64;

/** The key is in no text that leaves the agent, and log lines are as many as there is news. */
export function discretion(world: World): Witness {
  const disturbancesBefore = new Map<Incarnation, number>();
  const lastOutcome = new Map<string, string>();
  let steps = 0;

  /** The same failure again is no news. */
  function countNews({ process }: Incarnation, { request }: SentRequest, answer: Answer): void {
    const outcome = answer.kind === "none" ? "none" : String(answer.answer.status);
    const what = `${process.id} ${request.url}`;
    if (lastOutcome.get(what) !== outcome) world.counts.disturbances += 1;
    lastOutcome.set(what, outcome);
  }

  function search(kind: string, text: string): void {
    if (text.includes("CANARY")) world.fail(`the key is in a ${kind}: ${text}`);
  }

  return {
    onStart(incarnation) {
      disturbancesBefore.set(incarnation, world.counts.disturbances);
    },
    onAnswer: countNews,
    onIdentityAnswered: countNews,
    onText(incarnation, kind, text) {
      search(kind, text);
      if (kind !== "log") return;
      const disturbances = world.counts.disturbances - (disturbancesBefore.get(incarnation) ?? 0);
      const bound = LINES_PER_START + LINES_PER_DISTURBANCE * disturbances;
      if (incarnation.logLines > bound) {
        world.fail(`#${incarnation.process.id} wrote ${incarnation.logLines} log lines about ${disturbances} events`);
      }
    },
    onStep() {
      steps += 1;
      if (steps % STATUS_PERIOD !== 0) return;
      const status = world.daemon?.agent?.status();
      if (status !== undefined) search("status", JSON.stringify(status));
    },
  };
}
