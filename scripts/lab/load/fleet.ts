/** Thousands of robots in this process. */
import { randomInt } from "node:crypto";

import { createUndiciTransport } from "../../../src/client/transport/undici-transport.ts";
import { DEFAULT_TIMEOUTS, type Transport, TransportError } from "../../../src/client/transport/transport.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { createLoadRobot, type LoadRobot } from "./load-robot.ts";
import type { LoadedService } from "./load-service.ts";
import type { Samples } from "./measurements.ts";

export interface Fleet extends AsyncDisposable {
  readonly robots: readonly LoadRobot[];
  /** Resolves when all are enrolled and registered. */
  enroll(): Promise<void>;
}

/** Robots that enroll at the same time. A real fleet grows over days; this one as fast as this process can. */
const AT_ONCE = 64;
const DAY_MS = 24 * 60 * 60_000;

export async function createFleet(
  service: LoadedService,
  { count, heartbeatMs, samples }: { readonly count: number; readonly heartbeatMs: number; readonly samples: Samples },
): Promise<Fleet> {
  const transport = createUndiciTransport({
    caFile: null,
    proxy: null,
    environment: {},
    allow_insecure: false,
    files: systemFiles,
  });
  const bulkKey = await createBulkKey(service, count);
  const robots = Array.from({ length: count }, (_, index) =>
    createLoadRobot({
      name: `load-${index}`,
      bulkKey,
      heartbeatMs,
      access: {
        baseUrl: service.urls[0] ?? "",
        transport: measuredTransport(transport, service.urls, samples),
        clock: systemClock,
        userAgent: "robot-policy-agent/load",
        timeouts: DEFAULT_TIMEOUTS,
      },
    }),
  );
  const running: { readonly ended: Promise<void>; readonly end: AbortController }[] = [];
  return {
    robots,
    async enroll() {
      const waiting = robots.values();
      const next = async () => {
        for (const robot of waiting) {
          const end = new AbortController();
          const ended = robot.run(end.signal);
          running.push({ ended, end });
          await Promise.race([robot.registered, ended]);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, next));
    },
    async [Symbol.asyncDispose]() {
      for (const { end } of running) end.abort();
      await Promise.all(running.map(({ ended }) => ended));
      await transport.close();
    },
  };
}

async function createBulkKey({ urls, key }: LoadedService, uses: number): Promise<string> {
  const answer = await fetch(`${urls[0]}/v1/me/api-keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      label: "load",
      scopes: ["robots:enroll"],
      expires_at: new Date(Date.now() + DAY_MS).toISOString(),
      enrollment: { uses },
    }),
  });
  const created: unknown = await answer.json();
  if (typeof created === "object" && created !== null && "api_key" in created && typeof created.api_key === "string") {
    return created.api_key;
  }
  throw new Error(`No key for enrolments: ${answer.status} ${JSON.stringify(created)}`);
}

/** The paths whose requests are measured separately. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ["/v1/robot-agent/enrollment", "enroll: start"],
  ["/v1/robot-agent/enrollment/poll", "enroll: poll"],
  ["/v1/robot-agent/heartbeat", "heartbeat"],
  ["/v1/robot-agent/credential/renew", "renewal"],
  ["/v1/robots/setup", "setup"],
]);

/**
 * The agent's transport behind a simulated load balancer: each request goes to the next replica, and names the robot's address.
 *
 * @param urls of the replicas.
 */
function measuredTransport(inner: Transport, urls: readonly string[], samples: Samples): Transport {
  let turn = randomInt(1000);
  const address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
  return {
    async send(request, signal) {
      const { pathname } = new URL(request.url);
      const url = `${urls[turn++ % urls.length] ?? ""}${pathname}`;
      const headers = { ...request.headers, "x-forwarded-for": address };
      const startedMs = performance.now();
      const kind = KINDS.get(pathname) ?? pathname;
      try {
        const answer = await inner.send({ ...request, url, headers }, signal);
        samples.answered(kind, answer.status, performance.now() - startedMs);
        return answer;
      } catch (error) {
        if (error instanceof TransportError && error.reason !== "aborted")
          samples.unanswered(error.code ?? error.reason);
        throw error;
      }
    },
    prepare: () => inner.prepare(),
    close: () => inner.close(),
  };
}
