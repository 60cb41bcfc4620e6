import type { RobotView } from "../../../src/api/robot-views.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { eventually } from "../robot/robot.ts";

/** Robots that register one after another and record the answers. */
export interface Storm {
  /** Names of robots whose setup was answered with 200. */
  readonly acknowledged: readonly string[];
  /** Number of answers by status; 0 stands for no answer. */
  readonly statuses: Map<number, number>;
  /** Number of 503 answers without Retry-After. */
  readonly withoutRetryAfter: number;
  stop(): Promise<void>;
}

const DIGEST = `sha256:${"0".repeat(64)}`;
/** Shorter than Retry-After, to keep tests short. */
const PAUSE_MS = 20;

/** @param clients number of concurrent clients. */
export function startStorm(service: { readonly url: string; readonly key: string }, clients = 16, prefix = "r"): Storm {
  const seen = { acknowledged: [] as string[], statuses: new Map<number, number>(), withoutRetryAfter: 0 };
  const over = new AbortController();
  const running = Array.from({ length: clients }, async (_, client) => {
    for (let index = 0; !over.signal.aborted; index += 1) {
      const name = `${prefix}${client}-${index}`;
      const answer = await register(service, name);
      const status = answer?.status ?? 0;
      seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1);
      if (status === 200) seen.acknowledged.push(name);
      else await systemClock.sleep(PAUSE_MS);
      if (status === 503 && answer?.headers.get("retry-after") === null) seen.withoutRetryAfter += 1;
    }
  });
  return Object.assign(seen, {
    async stop() {
      over.abort();
      await Promise.all(running);
    },
  });
}

/** Waits until that many further setups have been acknowledged. */
export function acknowledges(storm: Storm, count: number): Promise<true> {
  const target = storm.acknowledged.length + count;
  return eventually(
    async () => (storm.acknowledged.length >= target ? true : undefined),
    `${count} more acknowledged setups`,
  );
}

/** Names of robots whose acknowledged registration is lost. */
export function lostBy({ acknowledged }: Pick<Storm, "acknowledged">, robots: readonly RobotView[]): readonly string[] {
  const names = new Set(robots.map(({ name }) => name));
  return acknowledged.filter((name) => !names.has(name));
}

/** The complete answer; null if the connection ended before its end. */
async function register({ url, key }: { readonly url: string; readonly key: string }, name: string) {
  try {
    const answer = await fetch(`${url}/v1/robots/setup`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ name, robot_type_id: "t", region: "x", configuration_digest: DIGEST }),
    });
    await answer.arrayBuffer();
    return answer;
  } catch {
    return null;
  }
}
