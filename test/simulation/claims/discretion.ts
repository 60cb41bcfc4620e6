import type { Answer, SentRequest } from "../machine/network.ts";
import type { Incarnation, Witness, World } from "../world.ts";

/** Log lines allowed for a start, and for each outside event: states, findings, and their ends. */
const LINES_PER_START = 16;
const LINES_PER_DISTURBANCE = 8;
/** Number of steps between checks of the status document. */
const STATUS_PERIOD = 64;

/** No text that leaves the agent contains the key, and log lines only report news. */
export function discretion(world: World): Witness {
  const disturbancesBefore = new Map<Incarnation, number>();
  const lastOutcome = new Map<string, string>();
  let steps = 0;

  /** A repeated failure is no news. */
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
