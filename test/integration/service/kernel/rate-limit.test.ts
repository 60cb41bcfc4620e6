import { describe, expect, it } from "vitest";

import { errorBodySchema } from "../../../../src/api/wire/errors.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { API_KEY_PREFIX, createToken } from "../../../../src/service/kernel/auth/token.ts";
import type { ServiceConfiguration } from "../../../../src/service/service.ts";
import type { RunningService } from "../../../support/service/service.ts";
import { testService } from "../../../support/service/test-service.ts";

/** A service for whose rate limits no time passes. */
async function service(configuration: Partial<ServiceConfiguration>): Promise<RunningService> {
  return testService({ configuration, clock: { ...systemClock, monotonicMs: () => 0 } });
}

const SLOW = 0.1;
const few = { per_second: SLOW, burst: 3 };
const many = { per_second: SLOW, burst: 1000 };
const rateHeaders = (answer: Response) => [
  answer.headers.get("ratelimit-policy"),
  answer.headers.get("ratelimit"),
  answer.headers.get("retry-after"),
];

describe("rate limits", () => {
  it("credential → counts down, then 429 with Retry-After", async () => {
    const { send } = await service({ rateLimit: { credential: few, address: many } });
    const answers = [];
    for (let count = 0; count < 4; count += 1) answers.push(await send("GET", "/v1/robots"));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map(rateHeaders)).toEqual([
      ['"credential";q=3;w=30', '"credential";r=2;t=10', null],
      ['"credential";q=3;w=30', '"credential";r=1;t=20', null],
      ['"credential";q=3;w=30', '"credential";r=0;t=30', null],
      ['"credential";q=3;w=30', '"credential";r=0;t=30', "10"],
    ]);
    expect(errorBodySchema.parse(await answers[3]?.json()).code).toBe("RateLimited");
  });

  it("credential in any spelling of the header → one budget", async () => {
    const { url, key } = await service({ rateLimit: { credential: few, address: many } });
    const statuses = [];
    for (const spelling of ["Bearer ", "bearer ", "BEARER   ", "bEaReR "]) {
      const headers = { authorization: spelling + key };
      statuses.push((await fetch(`${url}/v1/robots`, { headers })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  it("guessed keys → 401, then 429; valid keys, even new ones, still work", async () => {
    const { url, send } = await service({ rateLimit: { credential: many, address: few } });
    expect((await send("GET", "/v1/robots")).status).toBe(200);
    const guess = () =>
      fetch(`${url}/v1/robots`, { headers: { authorization: `Bearer ${createToken(API_KEY_PREFIX, systemRandom)}` } });
    const statuses = [];
    for (let count = 0; count < 5; count += 1) statuses.push((await guess()).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect((await fetch(`${url}/v1/robots`)).status).toBe(429);
    expect((await send("GET", "/v1/robots")).status).toBe(200);
    const made = await send("POST", "/v1/me/api-keys", { label: "fresh", scopes: ["robots:read"] });
    const { api_key: apiKey } = (await made.json()) as { readonly api_key: string };
    const headers = { authorization: `Bearer ${apiKey}` };
    expect((await fetch(`${url}/v1/robots`, { headers })).status).toBe(200);
  });

  it("operations without a credential → limited by address", async () => {
    const { url } = await service({ rateLimit: { credential: many, address: few } });
    const start = () => fetch(`${url}/v1/cli/login/start`, { method: "POST" });
    const statuses = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await start()).status);
    expect(statuses).toEqual([422, 422, 422, 429]);
  });

  it("paths outside /v1 → no limit", async () => {
    const { url } = await service({ rateLimit: { credential: few, address: few } });
    const statuses = [];
    for (let count = 0; count < 10; count += 1) statuses.push((await fetch(`${url}/readyz`)).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it("rateLimit: null → no headers", async () => {
    const { send } = await service({ rateLimit: null });
    expect(rateHeaders(await send("GET", "/v1/robots"))).toEqual([null, null, null]);
  });

  it("422 and 403 → carry the headers", async () => {
    const { send, url } = await service({});
    const key = await (await send("POST", "/v1/me/api-keys", { label: "r", scopes: ["robots:setup"] })).json();
    const { api_key: apiKey } = key as { api_key: string };
    const forbidden = await fetch(`${url}/v1/robots`, { headers: { authorization: `Bearer ${apiKey}` } });
    const invalid = await send("POST", "/v1/robots/setup", {});
    expect([forbidden.status, invalid.status]).toEqual([403, 422]);
    for (const answer of [forbidden, invalid])
      expect(answer.headers.get("ratelimit")).toMatch(/^"credential";r=\d+;t=\d+$/);
  });
});

describe("X-Forwarded-For", () => {
  const guessFrom = (url: string, address: string) =>
    fetch(`${url}/v1/robots`, { headers: { authorization: "Bearer nobody", "x-forwarded-for": address } });

  it("from a trusted proxy → limits and log use the address of the client", async () => {
    const { url, log } = await service({
      rateLimit: { credential: many, address: few },
      trustedProxies: ["127.0.0.0/8"],
    });
    const statuses = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await guessFrom(url, "203.0.113.7")).status);
    statuses.push((await guessFrom(url, "203.0.113.8")).status);
    expect(statuses).toEqual([401, 401, 401, 429, 401]);
    await expect.poll(log).toContain('"client":"203.0.113.8"');
  });

  it("from anyone else → ignored", async () => {
    const { url, log } = await service({ rateLimit: { credential: many, address: few } });
    const statuses = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await guessFrom(url, `203.0.113.${count}`)).status);
    expect(statuses).toEqual([401, 401, 401, 429]);
    await expect.poll(log).toContain('"client":"127.0.0.1"');
    expect(log()).not.toContain("203.0.113");
  });

  it("hops added by the client behind the proxy → ignored", async () => {
    const { url, log } = await service({ trustedProxies: ["127.0.0.1"] });
    await guessFrom(url, "198.51.100.1, 203.0.113.9");
    await expect.poll(log).toContain('"client":"203.0.113.9"');
  });

  it("without a valid address → all such requests count as one client", async () => {
    const { url, log } = await service({
      rateLimit: { credential: many, address: few },
      trustedProxies: ["127.0.0.1"],
    });
    const statuses = [];
    for (const forwardedFor of ["unknown", "x".repeat(5000), '"level":"error"', "_hidden"]) {
      statuses.push((await guessFrom(url, forwardedFor)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 429]);
    await expect.poll(log).toContain('"client":"unknown"');
    expect(log()).not.toContain("xxxx");
  });
});
