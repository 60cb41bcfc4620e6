import { threadCpuUsage } from "node:process";

import { expect, it } from "vitest";

import { BODY_BYTES } from "../../../../src/api/wire/body-bytes.ts";
import { atPresentSpeed } from "../../../support/run/processor.ts";
import { startService } from "../../../support/service/service.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const SETUP = { name: "r", robot_type_id: "so101", region: "us-west-2", configuration_digest: DIGEST };
const FLEET = { name: "f", subject: "pi0.5", selection: { robots: ["a"] }, readiness_mode: "always_ready" };

/** Size of the large part; the rest of the body fits beside it. */
const LARGE = BODY_BYTES.registration - 1024;

interface Attack {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  readonly isAnonymous?: boolean;
}

/** A registration with this JSON text as its contract. */
const withContract = (contract: string): Attack => ({
  method: "POST",
  path: "/v1/robots/setup",
  body: `${JSON.stringify(SETUP).slice(0, -1)},"contract":${contract}}`,
});

const listOf = (item: string, count: number) => `[${Array.from({ length: count }, () => item).join(",")}]`;

const ATTACKS: Readonly<Record<string, Attack>> = {
  "many spaces in place of an integer": {
    method: "POST",
    path: "/v1/fleets",
    body: JSON.stringify({ ...FLEET, peak_active_robots: `x${" ".repeat(LARGE)}x` }),
  },
  "many spaces in a query": { method: "GET", path: `/v1/robots?limit=x${"+".repeat(15_800)}x` },
  "a path of many parts": { method: "GET", path: `/v1${"/a".repeat(7000)}`, isAnonymous: true },
  "a login of a megabyte": {
    method: "POST",
    path: "/v1/cli/login/start",
    body: listOf("{}", 349_000),
    isAnonymous: true,
  },
  "a contract with many values": withContract(`{"a":${listOf("{}", 8000)}}`),
  "a contract with one long text": withContract(`{"a":"${"\\u0041".repeat(LARGE / 6)}"}`),
  "a contract with long numbers": withContract(`{"a":${listOf("9".repeat(4299), LARGE / 4300)}}`),
  "a deeply nested contract": withContract(listOf("[".repeat(500) + "]".repeat(500), 16)),
  "a contract with errors everywhere": withContract(`{"${"sk_".repeat(LARGE / 6)}":${listOf("NaN", 8000)}}`),
};
const REQUESTS_EACH = 10;
/** Several times the processor time that all requests need. */
const CPU_MAXIMUM_S = 5;
/** A busy machine delays some turns of the event loop for longer, but not most of them. */
const SHORT_DELAY_S = 0.25;

it("expensive requests, many at once → little processor time, and the event loop stays responsive", async () => {
  await using service = await startService();
  const { url, key } = service;
  const statuses = new Set<number>();
  const begin = threadCpuUsage();
  for (const { method, path, body, isAnonymous = false } of Object.values(ATTACKS)) {
    const headers = { "content-type": "application/json", ...(isAnonymous ? {} : { authorization: `Bearer ${key}` }) };
    const answers = Array.from({ length: REQUESTS_EACH }, async () => {
      const answer = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body }) });
      statuses.add(answer.status);
      expect((await answer.text()).length).toBeLessThan(100_000);
    });
    await Promise.all(answers);
  }
  const { user, system } = threadCpuUsage(begin);
  expect((user + system) / 1_000_000, "seconds of this thread, with the client's").toBeLessThan(
    atPresentSpeed(CPU_MAXIMUM_S),
  );
  expect([...statuses].toSorted()).toEqual([200, 404, 413, 422]);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const half = Number(/^nodejs_eventloop_lag_p50_seconds (\S+)$/m.exec(metrics)?.[1]);
  expect(half, "seconds that half of the turns took at most").toBeLessThan(SHORT_DELAY_S);
});
