/** Thousands of robots in this process. */
import { createUndiciTransport } from "../../../src/client/transport/undici-transport.ts";
import { DEFAULT_TIMEOUTS } from "../../../src/client/transport/transport.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { createLoadRobot, type LoadRobot } from "./load-robot.ts";
import type { LoadedService } from "./load-service.ts";
import { measuredTransport } from "./measured-transport.ts";
import type { Samples } from "./samples.ts";

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
    clock: systemClock,
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
