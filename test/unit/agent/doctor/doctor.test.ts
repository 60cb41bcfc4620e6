import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";

import { describe, expect, test } from "vitest";

import { combine, examine, fail, ok, skip, type Verdict, warn } from "../../../../src/agent/doctor/check.ts";
import { checkDns, checkTcp } from "../../../../src/agent/doctor/network.ts";
import { judgeClock, judgeKey } from "../../../../src/agent/doctor/service.ts";
import { checkDisk } from "../../../../src/agent/doctor/state.ts";
import { judgeTls } from "../../../../src/agent/doctor/tls.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { RELEASED_AT_MS } from "../../../../src/platform/release.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { systemMachine } from "../../../../src/platform/machine.ts";
import { temporaryFolder } from "../../look/machine.ts";
import { HeldClock } from "../robot-in-process.ts";

test("checkDisk: killed while it writes → no file is left", async () => {
  const stateDirectory = await temporaryFolder();
  const left: string[] = [];
  const files: typeof systemFiles = {
    ...systemFiles,
    async createExclusive(...asked) {
      const file = await systemFiles.createExclusive(...asked);
      const write = async (bytes: Uint8Array) => {
        left.push(...(await readdir(stateDirectory)));
        await file.write(bytes);
      };
      return { ...file, write };
    },
  };
  const machine = { ...systemMachine({}, process.pid), files };
  const verdict = await checkDisk({ machine, processId: process.pid }, { stateDirectory }, { relation: "same" }, null);
  expect(verdict.what).toContain(`${stateDirectory} can be written`);
  expect(left).toEqual([]);
});

test.each([
  ["a key with only the scope for setup", 403, "The API key lacks the scope robots:read", false, "ok"],
  ["refused for another reason, but registered", 403, "not with this key", true, "warn"],
  ["refused for another reason", 403, "not with this key", false, "fail"],
  ["revoked", 401, "Invalid API key", true, "fail"],
] as const)("judgeKey: %s", (_case, status, detail, isRegistered, verdict) => {
  const refused = { kind: "refused", status, detail, validation: null, retryAfterMs: null, request_id: null } as const;
  const judged = judgeKey(refused, isRegistered, { source: "key-file", where: "/etc/api-key" });
  expect(judged.status).toBe(verdict);
  if (judged.status === "fail") expect(judged.remedy).toContain("robot-policy-service keys create");
});

describe("examine", () => {
  const LATE: Verdict = fail(4, "nothing within 1 s", "wait");
  const limit = { limitMs: 1000, late: LATE };
  const on = (clock: Clock, signal = new AbortController().signal) => ({
    machine: { ...systemMachine({}, process.pid), clock },
    signal,
  });

  test("check → verdict to the display, value to later checks", async () => {
    const examined = await examine(on(systemClock), "dns", limit, async () => ({ ...ok("found"), value: 7 }));
    expect(examined).toMatchObject({ id: "dns", status: "ok", what: "found", value: 7 });
  });

  test("hanging check → verdict of its limit, its signal aborts", async () => {
    const clock = new HeldClock();
    const aborted = Promise.withResolvers<void>();
    const running = examine(on(clock), "dns", limit, (signal) => {
      signal.addEventListener("abort", () => aborted.resolve());
      return new Promise<never>(() => {});
    });
    clock.step(1000);
    expect(await running).toMatchObject(LATE);
    await aborted.promise;
  });

  test("interrupt → ends at once", async () => {
    const interrupt = new AbortController();
    const running = examine(on(systemClock, interrupt.signal), "dns", limit, () => new Promise<never>(() => {}));
    interrupt.abort(new Error("interrupted"));
    await expect(running).rejects.toThrow("interrupted");
  });

  test("system error → verdict, bug → thrown", async () => {
    const failing = (error: Error) =>
      examine(on(systemClock), "state", limit, async () => {
        throw error;
      });
    const failed = await failing(Object.assign(new Error("no"), { code: "EIO" }));
    expect(failed).toMatchObject({ status: "fail", exitCode: 1 });
    await expect(failing(new TypeError("bug"))).rejects.toThrow("bug");
  });
});

test.each([
  ["what is in order", [ok("a"), skip("b"), ok("c")], ok("a, c")],
  ["nothing was checked", [skip("a"), skip("b")], skip("a")],
  ["all troubles, the worst first", [warn("a", "A"), ok("b"), fail(4, "c", "C")], fail(4, "c; a", "C; A")],
] as const)("combine: %s", (_what, verdicts, expected) => {
  expect(combine(verdicts)).toEqual(expected);
});

describe("judgeClock", () => {
  const at = (wall: string): Clock => ({ ...systemClock, wallMs: () => Date.parse(wall) });

  test.each([
    ["1970-01-01T00:01:00Z", null, "fail"],
    ["2030-01-01T00:00:00Z", null, "skip"],
    ["2030-01-01T00:00:00Z", true, "skip"],
    ["2030-01-01T00:00:00Z", false, "warn"],
  ])("scenario 3: %s, nothing to compare with, kept by a time service: %s → %s", (now, isKept, status) => {
    expect(judgeClock(at(now), null, isKept).status).toBe(status);
  });

  test.each([
    [0, "ok", "the clocks agree"],
    [10 * 60_000, "warn", "the clock is 10 minutes behind the service's"],
    [-10 * 60_000, "warn", "the clock is 10 minutes ahead of the service's"],
    [26 * 3_600_000, "fail", "the clock is 26 hours behind the service's"],
    [3 * 86_400_000, "fail", "the clock is 3 days behind the service's"],
  ])("the service's clock is %i ms ahead → %s", (aheadMs, status, what) => {
    const hereMs = Date.parse("2030-01-01T00:00:00Z");
    expect(judgeClock(systemClock, { hereMs, serviceMs: hereMs + aheadMs }, null)).toMatchObject({ status, what });
  });

  test("RELEASED_AT_MS: in the past", () => {
    expect(RELEASED_AT_MS).toBeLessThan(Date.now());
  });
});

test.each([
  ["https://policy.example", "policy.example:443"],
  ["https://[::1]:8443", "[::1]:8443"],
])("judgeTls: %s, refused for an unknown reason → a command for that port", async (address, connected) => {
  const route = { url: new URL(address), proxy: null, caFile: null };
  const result = { kind: "unreachable", reason: "reset", code: null, detail: "the connection broke" } as const;
  const verdict = await judgeTls(route, { handshake: null, result }, systemClock, new AbortController().signal);
  // openssl-s_client(1): without a port it connects to 4433.
  expect(verdict).toMatchObject({ remedy: `inspect the connection: openssl s_client -connect ${connected}` });
});

test("checkDns: a name with hundreds of addresses → sixteen of them", async () => {
  const addresses = Array.from({ length: 300 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  const hop = { host: "policy.example", port: 443, program: "service", setting: "service.url" } as const;
  expect(await checkDns(hop, async () => addresses.map((address) => ({ address, family: 4 })))).toMatchObject({
    status: "ok",
    what: `policy.example is ${addresses.slice(0, 16).join(", ")}`,
    value: addresses.slice(0, 16),
  });
});

test("checkTcp: no route to one address, and nothing listens at the other → the host is reached", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const hop = { host: "policy.example", port, program: "service", setting: "service.url" } as const;
  // Linux has no route for connections to the broadcast address.
  const addresses = ["255.255.255.255", "127.0.0.1"];
  expect(await checkTcp(hop, addresses, 10_000, new AbortController().signal)).toMatchObject({
    status: "fail",
    what: `cannot connect to policy.example port ${port} (ECONNREFUSED)`,
    remedy: "nothing listens there: check the port in service.url, and that the service runs",
  });
});
