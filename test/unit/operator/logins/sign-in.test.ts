import { describe, expect, test } from "vitest";

import { awaitApproval, startLogin } from "../../../../src/operator/logins/sign-in.ts";
import type { Service } from "../../../../src/operator/service.ts";

const LOGIN = { exchange_id: "x", verifier: "v" };
const complete = ok({ status: "complete", token: "rps_token" });

function ok(value: object) {
  return { kind: "ok", status: 200, value: { value } };
}

function refused(status: number, retryAfterMs: number | null) {
  return { kind: "refused", status, detail: "later", validation: null, retryAfterMs };
}

/** A service with these successive answers, and a clock that records the requested waits. */
function open(baseUrl: string, answers: readonly object[]) {
  const rest = [...answers];
  const pauses: number[] = [];
  const machine = {
    clock: { sleep: async (ms: number) => void pauses.push(ms) },
    random: { bytes: (count: number) => new Uint8Array(count) },
  };
  const context = { machine, signal: new AbortController().signal };
  const service = { context, chosen: { baseUrl }, call: async () => rest.shift() } as unknown as Service;
  return { service, pauses };
}

describe("startLogin: URL to open in the browser", () => {
  const start = (baseUrl: string, login_url: string) => {
    const { service } = open(baseUrl, [ok({ exchange_id: "x", login_url })]);
    return startLogin(service, "http://127.0.0.1:1/callback");
  };

  test.each([
    ["https://robots.example", "/login?exchange=x", "https://robots.example/login?exchange=x"],
    ["https://robots.example/below", "/login?exchange=x", "https://robots.example/below/login?exchange=x"],
    ["https://robots.example", "https://robots.example/login", "https://robots.example/login"],
  ])("at %s, %s", async (baseUrl, login_url, url) => {
    expect(await start(baseUrl, login_url)).toMatchObject({ kind: "started", url });
  });

  test.each([
    "https://evil.example/login",
    "//evil.example/login",
    String.raw`/\evil.example/login`,
    "http://robots.example/login",
    "https://robots.example:444/login",
    "https://robots.example@evil.example/login",
    "https://robots.example.evil.example/login",
    "javascript:alert(1)",
    "data:text/html,x",
    "http://",
  ])("%s → refused", async (login_url) => {
    const started = await start("https://robots.example", login_url);
    if (started.kind === "started") expect(new URL(started.url).origin).toBe("https://robots.example");
    else expect(started).toMatchObject({ failure: { kind: "undecodable", detail: expect.stringContaining("origin") } });
  });
});

describe("awaitApproval: seconds to the next poll", () => {
  test.each([
    ["that the service leaves open", ok({ status: "pending" }), 5],
    ["that the service names", ok({ status: "slow_down", interval: 10 }), 10],
    ["of zero", ok({ status: "pending", interval: 0 }), 1],
    ["below zero", ok({ status: "pending", interval: -5 }), 1],
    ["of a day", ok({ status: "slow_down", interval: 86_400 }), 60],
    ["in a refusal", refused(429, 30_000), 30],
    ["in a refusal, of a day", refused(503, 86_400_000), 60],
    ["in a refusal, shorter than before", refused(429, 1000), 5],
    ["without an answer", { kind: "unreachable", reason: "connect", code: null, detail: "" }, 5],
  ])("%s", async (_what, answer, seconds) => {
    const { service, pauses } = open("https://robots.example", [answer, complete]);
    expect(await awaitApproval(service, LOGIN, null)).toMatchObject({ kind: "signed-in" });
    expect(pauses).toEqual([5000, seconds * 1000]);
  });

  test("interrupted while the browser may still come back → the token is kept, as it is handed out once", async () => {
    const { service } = open("https://robots.example", [complete]);
    const { clock } = service.context.machine;
    let sleeps = 0;
    clock.sleep = async () => {
      sleeps += 1;
      if (sleeps === 2) throw new Error("interrupted");
    };
    const never = new Promise<never>(() => {});
    expect(await awaitApproval(service, LOGIN, never)).toMatchObject({ kind: "signed-in" });
    expect(sleeps).toBe(2);
  });

  test("ten consecutive polls without an answer → ends", async () => {
    const lost = Array.from({ length: 20 }, () => refused(503, null));
    const { service, pauses } = open("https://robots.example", lost);
    expect(await awaitApproval(service, LOGIN, null)).toMatchObject({ kind: "failed" });
    expect(pauses).toHaveLength(10);
  });
});
