/** A client of the storm: registers robots one after the other, new ones and old ones, and remembers what was acknowledged. */
import { setTimeout as sleep } from "node:timers/promises";

import type { Target } from "../benchmarks/service-load.ts";

/** The last setup of a robot that was answered with 200. */
export interface Acknowledged {
  readonly name: string;
  readonly id: string;
  /** Counts a client's setups; the robot carries it as a label. */
  readonly setup: number;
}

export interface Client {
  readonly acknowledged: ReadonlyMap<string, Acknowledged>;
  /** Setups acknowledged in all. */
  count(): number;
  /** Requests without a whole answer. */
  cutOff(): number;
  /** Resolves when the setup under way is acknowledged. */
  stop(): Promise<void>;
}

/** Of so many setups one makes a new robot; the others replace one that is there. */
const NEW_ROBOT_EVERY = 3;
/** The service is away for a moment; then the same setup is sent again. */
const RETRY_MS = 20;
/** A request that hangs is as lost as one that is refused. */
const ANSWER_TIMEOUT_MS = 10_000;
/** Without a single answer for so long, something else is wrong. */
const PATIENCE_MS = 60_000;

/** @param target is read for every request, since a killed service may come back elsewhere. */
export function startClient(client: string, target: Readonly<Target>): Client {
  const acknowledged = new Map<string, Acknowledged>();
  let [setup, count, cutOff, names] = [0, 0, 0, 0];
  const stopping = new AbortController();

  async function register(): Promise<void> {
    setup += 1;
    const isNew = setup % NEW_ROBOT_EVERY === 1;
    if (isNew) names += 1;
    const name = `${client}-${isNew ? names : 1 + Math.floor(Math.random() * names)}`;
    const body = JSON.stringify({
      name,
      robot_type_id: "so101",
      region: "us-west-2",
      configuration_digest: `sha256:${setup.toString(16).padStart(64, "0")}`,
      labels: { setup: String(setup) },
    });
    const deadlineMs = Date.now() + PATIENCE_MS;
    for (let id: string | null = null; id === null;) {
      id = await send(target, body);
      if (id !== null) {
        acknowledged.set(name, { name, id, setup });
        count += 1;
        return;
      }
      cutOff += 1;
      if (Date.now() > deadlineMs) throw new Error(`${client}: no answer within ${PATIENCE_MS / 1000} s`);
      await sleep(RETRY_MS);
    }
  }

  const run = (async () => {
    while (!stopping.signal.aborted) await register();
  })();
  // Seen by whoever stops it.
  run.catch(() => {});
  return {
    acknowledged,
    count: () => count,
    cutOff: () => cutOff,
    stop() {
      stopping.abort();
      return run;
    },
  };
}

/** Robots as the service lists them, with the setup that each of them stands at. */
export async function robotsOf({ url, key }: Readonly<Target>) {
  const answer = await fetch(`${url}/v1/robots`, { headers: { authorization: `Bearer ${key}` } });
  if (answer.status !== 200) throw new Error(`the list is answered with ${answer.status}`);
  const robots = (await answer.json()) as { id: string; name: string; labels: { setup: string } }[];
  return robots.map(({ id, name, labels }) => ({ id, name, setup: Number(labels.setup) }));
}

/** @returns the robot's id once the setup is acknowledged; null where the answer did not come whole, or says to try again. */
async function send({ url, key }: Readonly<Target>, body: string): Promise<string | null> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  try {
    const answer = await fetch(`${url}/v1/robots/setup`, { method: "POST", headers, body, signal });
    const text = await answer.text();
    if (answer.status === 503) return null;
    if (answer.status !== 200) throw new UnexpectedAnswer(`${answer.status}: ${text}`);
    return (JSON.parse(text) as { robot: { id: string } }).robot.id;
  } catch (error) {
    if (error instanceof UnexpectedAnswer) throw error;
    return null;
  }
}

/** Neither 200 nor 503: a storm must not bring that about. */
class UnexpectedAnswer extends Error {}
