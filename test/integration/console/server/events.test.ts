import { once } from "node:events";
import { type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { connect } from "node:net";

import fastify from "fastify";
import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";

import { apiKeyCreatedSchema } from "../../../../src/api/keys.ts";
import { createChangeFeed, FULL_REFRESH_MS } from "../../../../src/console/server/change-feed.ts";
import { mountEvents } from "../../../../src/console/server/events.ts";
import { TOPICS } from "../../../../src/console/topics.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import type { Gate } from "../../../../src/service/kernel/http/gate.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import type { Tables } from "../../../../src/service/kernel/store/tables.ts";
import { StoreUnavailableError } from "../../../../src/service/kernel/store/unavailable.ts";
import { HTTP_LIMITS } from "../../../../src/service/kernel/traffic/limits.ts";
import { createTraffic } from "../../../../src/service/kernel/traffic/traffic.ts";
import { SERVICE_LIMITS } from "../../../../src/service/limits.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { openBackstage } from "../../../support/service/organizations.ts";
import { fleetRow, installationRow, robotRow } from "../../../support/service/rows.ts";
import { openServiceParts, PRINCIPAL } from "../../../support/service/service-parts.ts";
import type { RunningService, ServiceOptions } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const FROM_CONSOLE = { "x-robot-policy-console": "1" };
/** In the tests of the feed, a robot is online for this long after a heartbeat. */
const WINDOW_MS = 10_000;
const SOON = { timeout: PATIENCE_MS, interval: 10 } as const;
const setup = {
  name: "arm",
  robot_type_id: "so101",
  region: "us-west-2",
  configuration_digest: `sha256:${"0".repeat(64)}`,
};

/** Sleeps last a fiftieth of their time: about 25 heartbeats a second. */
const hasty: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 50, signal) };

async function service(options: ServiceOptions = {}): Promise<RunningService> {
  const configuration = { consoleFolder: "/nowhere", ...options.configuration };
  return testService({ clock: hasty, ...options, configuration });
}

async function cookieOf({ url }: RunningService, apiKey: string): Promise<string> {
  const headers = { ...FROM_CONSOLE, "content-type": "application/json" };
  const answer = await fetch(`${url}/console/session`, {
    method: "POST",
    headers,
    body: JSON.stringify({ api_key: apiKey }),
  });
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

interface EventStream {
  readonly answer: IncomingMessage;
  /** The text received so far. */
  text(): string;
  /** The topics of each change received so far. */
  changes(): readonly string[][];
  readonly ended: Promise<unknown>;
  close(): void;
}

async function listen(
  { url }: Pick<RunningService, "url">,
  headers: OutgoingHttpHeaders,
  query = "",
): Promise<EventStream> {
  const sent = request(`${url}/console/events${query}`, { headers, agent: false });
  // Closing the stream is an error of the request.
  sent.on("error", () => {});
  sent.end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  answer.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  answer.on("error", () => {});
  const close = () => {
    sent.destroy();
  };
  onTestFinished(close);
  return {
    answer,
    text: () => text,
    changes: () =>
      [...text.matchAll(/^event: changed\ndata: (.*)\n\n/gm)].map(([, data = ""]) => JSON.parse(data).topics),
    ended: new Promise((resolve) => answer.once("close", resolve)),
    close,
  };
}

describeOnEachStore("GET /console/events", (newStore) => {
  it("change in the person's organization → its topics, no data", async () => {
    const store = await newStore();
    const running = await service({ store });
    await using backstage = await openBackstage(store);
    const otherKey = await backstage.organization();
    const own = await listen(running, { cookie: await cookieOf(running, running.key) });
    const other = await listen(running, { cookie: await cookieOf(running, otherKey) });
    expect(own.answer.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
      "x-request-id": expect.stringMatching(/^[0-9a-f]{24}$/),
    });
    expect(own.answer.headers["content-encoding"]).toBeUndefined();
    await running.send("POST", "/v1/robots/setup", setup);
    await expect.poll(() => own.changes(), SOON).toContainEqual(["robots", "fleets"]);
    const made = await running.send("POST", "/v1/me/api-keys", { label: "k" });
    await expect.poll(() => own.changes(), SOON).toContainEqual(["keys"]);
    await running.send("DELETE", `/v1/me/api-keys/${apiKeyCreatedSchema.parse(await made.json()).id}`);
    // The computers that the key allowed to enroll are allowed no more.
    await expect.poll(() => own.changes(), SOON).toContainEqual(["enrolments", "keys"]);
    // The other stream receives this event after those changes, so theirs are not just late.
    const headers = { authorization: `Bearer ${otherKey}`, "content-type": "application/json" };
    const body = JSON.stringify({ label: "k" });
    await fetch(`${running.url}/v1/me/api-keys`, { method: "POST", headers, body });
    await expect.poll(() => other.changes(), SOON).toContainEqual(["keys"]);
    expect(other.changes()).not.toContainEqual(["robots", "fleets"]);
    expect(own.text()).not.toMatch(/arm|rob_|key_|org_/);
  });

  it("?since= → all topics at once if the store has changed, otherwise none", async () => {
    const running = await service({ store: await newStore() });
    const headers = { cookie: await cookieOf(running, running.key) };
    const sinceQuery = async () => {
      const answer = await fetch(`${running.url}/v1/me/session`, { headers: { ...FROM_CONSOLE, ...headers } });
      return `?since=${answer.headers.get("x-robot-policy-store")}`;
    };
    const since = await sinceQuery();
    await running.send("POST", "/v1/me/api-keys", { label: "k" });
    const late = await listen(running, headers, since);
    await expect.poll(late.changes, SOON).toContainEqual(TOPICS);
    const firstChanges = async () => {
      const one = await listen(running, headers, await sinceQuery());
      await expect.poll(one.text, SOON).toMatch(/^event: (?:beat|changed)\n/m);
      one.close();
      return one.changes();
    };
    // The service's own tasks may commit in between, but not each time.
    await expect.poll(firstChanges, SOON).toEqual([]);
  });

  it("client disconnects during authentication → its stream is removed", async ({ skip }) => {
    const store = await newStore();
    if (store.kind !== "postgres") return skip("SQLite answers before a client can disconnect");
    const running = await service({ store, configuration: { rateLimit: null } });
    const cookie = await cookieOf(running, running.key);
    const client = new Client(store.url);
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("begin; lock table sessions");
    const { hostname, port, host } = new URL(running.url);
    for (let count = 0; count < SERVICE_LIMITS.streams.credential; count += 1) {
      const socket = connect(Number(port), hostname);
      await new Promise((resolve) => {
        socket.write(`GET /console/events HTTP/1.1\r\nhost: ${host}\r\ncookie: ${cookie}\r\n\r\n`, resolve);
      });
      socket.destroy();
    }
    await client.query("commit");
    expect((await listen(running, { cookie })).answer.statusCode).toBe(200);
  });

  it("restricted key → only topics that it may read", async () => {
    const running = await service({ store: await newStore() });
    const listenAs = async (scopes: readonly string[] | null) => {
      const made = await running.send("POST", "/v1/me/api-keys", { label: "k", scopes });
      const { api_key: apiKey } = apiKeyCreatedSchema.parse(await made.json());
      return listen(running, { authorization: `Bearer ${apiKey}` }, "?since=long-ago");
    };
    const [robot, reader] = [await listenAs(["robots:setup"]), await listenAs(["robots:read", "api-keys:read"])];
    await expect.poll(reader.changes, SOON).toContainEqual(["robots", "keys"]);
    await running.send("POST", "/v1/robots/setup", setup);
    await expect.poll(reader.changes, SOON).toContainEqual(["robots"]);
    await expect.poll(robot.text, SOON).toContain("event: beat");
    expect(robot.changes()).toEqual([]);
  });

  it("key revoked by another process, or expired → ends within a second", async () => {
    const store = await newStore();
    let aheadMs = 0;
    // Sleeps at full length. The clock moves once both streams are open, so the key cannot expire earlier.
    const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
    const running = await service({ store, clock });
    await using backstage = await openBackstage(store);
    const make = async (body: object) => {
      const made = await running.send("POST", "/v1/me/api-keys", { label: "k", scopes: ["robots:setup"], ...body });
      return apiKeyCreatedSchema.parse(await made.json());
    };
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const [revoked, expiring] = [await make({}), await make({ expires_at: expiresAt })];
    const [first, second] = [
      await listen(running, { authorization: `Bearer ${revoked.api_key}` }),
      await listen(running, { authorization: `Bearer ${expiring.api_key}` }),
    ];
    const at = new Date().toISOString();
    await backstage.store.write((transaction) =>
      transaction.updateTable("api_keys").set({ revoked_at: at }).where("id", "=", revoked.id).execute(),
    );
    await first.ended;
    expect(second.text()).not.toContain("event: ended");
    aheadMs = 3_600_000;
    for (const { ended, text } of [first, second]) {
      await ended;
      expect(text()).toMatch(/event: ended\ndata: \{\}\n\n$/);
    }
  });

  it("session ends → sends `ended` and closes", async () => {
    const running = await service({ store: await newStore() });
    const cookie = await cookieOf(running, running.key);
    const { text, ended } = await listen(running, { cookie });
    await expect.poll(text, SOON).toMatch(/^retry: 3000\n\n[^]*^event: beat\ndata: \{\}\n\n/m);
    await fetch(`${running.url}/console/session`, { method: "DELETE", headers: { ...FROM_CONSOLE, cookie } });
    await ended;
    expect(text()).toMatch(/event: ended\ndata: \{\}\n\n$/);
  });
});

describe("event stream", () => {
  it.each<[string, OutgoingHttpHeaders, number]>([
    ["the page", {}, 200],
    ["the page, in a browser that sends Sec-Fetch-Site", { "sec-fetch-site": "same-origin" }, 200],
    ["another site", { "sec-fetch-site": "cross-site" }, 401],
    ["another port of the host", { "sec-fetch-site": "same-site" }, 401],
    ["another site in an old browser", { origin: "https://evil.example" }, 401],
    ["a client without a session", { cookie: "" }, 401],
  ])("opened by %s: %j → %i", async (_who, headers, status) => {
    const running = await service();
    const cookie = await cookieOf(running, running.key);
    expect((await listen(running, { cookie, ...headers })).answer.statusCode).toBe(status);
  });

  it("credential at its limit → its oldest stream closes", async () => {
    const running = await service({ configuration: { rateLimit: null } });
    const cookie = await cookieOf(running, running.key);
    const streams = [];
    for (let count = 0; count < SERVICE_LIMITS.streams.credential; count += 1)
      streams.push(await listen(running, { cookie }));
    const ended = new Set<number>();
    for (const [index, one] of streams.entries()) void one.ended.then(() => ended.add(index));
    expect((await listen(running, { cookie })).answer.statusCode).toBe(200);
    await streams[0]?.ended;
    expect([...ended]).toEqual([0]);
  });

  it("closed by the last page → the service stops polling the store", async () => {
    // The pause after an instant poll is one second; here the test ends the pause.
    const pauses: (() => void)[] = [];
    const clock: Clock = {
      ...hasty,
      monotonicMs: () => 0,
      sleep(ms, signal) {
        if (ms !== 1000) return hasty.sleep(ms, signal);
        return new Promise((resolve) => {
          pauses.push(resolve);
          signal?.addEventListener("abort", () => resolve());
        });
      },
    };
    const running = await service({ clock });
    const page = await listen(running, { cookie: await cookieOf(running, running.key) });
    await expect.poll(() => pauses.length, SOON).toBe(1);
    const pollsAgain = async () => {
      const before = pauses.length;
      pauses.at(-1)?.();
      // Long enough for the next poll.
      for (let requests = 0; requests < 3; requests += 1) await running.send("GET", "/v1/robots");
      return pauses.length > before;
    };
    expect(await pollsAgain()).toBe(true);
    page.close();
    await expect.poll(pollsAgain, SOON).toBe(false);
  });

  it("open while the service stops → does not delay the shutdown", async () => {
    const running = await service();
    const { ended } = await listen(running, { cookie: await cookieOf(running, running.key) });
    await running[Symbol.asyncDispose]();
    await ended;
    expect(running.log()).not.toContain("drain_cut_short");
    expect(running.requests.at(-1)).toMatchObject({ path: "/console/events", status: 200 });
  });
});

it("the first look at the store for a stream fails after it was sent a change → the stream ends", async () => {
  await using parts = await openServiceParts();
  const { store, context, register } = parts;
  // The first look opens the first stream, the second finds a change, the third is the first one for the second stream.
  const mayLook = Promise.withResolvers<void>();
  let looks = 0;
  const version = async () => {
    looks += 1;
    if (looks === 2) await mayLook.promise;
    if (looks === 3) throw new StoreUnavailableError("away");
    return store.version();
  };
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const sleep: Clock["sleep"] = (_ms, signal) =>
    new Promise((resolve) => signal?.addEventListener("abort", () => resolve()));
  const clock = { ...context.machine.clock, sleep };
  let admitted = 0;
  const gate: Gate = {
    async admit() {
      admitted += 1;
      return { state: "admitted", principal: PRINCIPAL, headers: {} };
    },
  };
  const app = fastify({ forceCloseConnections: true });
  onTestFinished(() => app.close());
  const traffic = createTraffic(HTTP_LIMITS, context.limitMet);
  const machine = { ...context.machine, clock };
  mountEvents(
    app,
    { ...context, store: { ...store, version }, machine, gate, traffic },
    SERVICE_LIMITS.streams,
    WINDOW_MS,
    stopping.signal,
  );
  const url = await app.listen();
  const first = await listen({ url }, { authorization: "Bearer k" });
  await expect.poll(() => looks, SOON).toBe(2);
  await register("arm");
  const second = listen({ url }, { authorization: "Bearer k" });
  await expect.poll(() => admitted, SOON).toBe(2);
  mayLook.resolve();
  const { ended, changes } = await second;
  await ended;
  expect(changes()).toEqual([["robots", "fleets"]]);
  await expect.poll(first.changes, SOON).toEqual([["robots", "fleets"]]);
});

describeOnEachStore("change feed", (newStore) => {
  /** A store with two organizations, and a feed whose clock the test advances. */
  async function scene() {
    const backstage = await openBackstage(await newStore());
    onTestFinished(() => backstage[Symbol.asyncDispose]());
    const { store } = backstage;
    await backstage.organizations(2);
    const [first, second] = await store.reader.selectFrom("organizations").select("id").orderBy("id").execute();
    let [nowMs, polls] = [Date.now(), 0];
    let wake: () => void = () => {};
    const clock: Clock = {
      wallMs: () => nowMs,
      monotonicMs: () => nowMs,
      sleep: (_ms, signal) =>
        new Promise((resolve, reject) => {
          polls += 1;
          wake = resolve;
          signal?.addEventListener("abort", () => reject(signal.reason));
        }),
    };
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const problems: unknown[] = [];
    const log = {
      debug() {},
      info() {},
      notice() {},
      warn() {},
      error: (...problem: unknown[]) => problems.push(problem),
    };
    let looks = 0;
    let held: Promise<void> = Promise.resolve();
    const version = async () => {
      looks += 1;
      await held;
      return store.version();
    };
    const feed = createChangeFeed({ reader: store.reader, version }, { clock, log }, WINDOW_MS, stopping.signal);
    const reported: (readonly string[])[] = [];
    const stop = await feed.listen(first!.id, (topics) => reported.push(topics));
    // The result of a poll that is under way does not count.
    await expect.poll(() => polls, SOON).toBeGreaterThan(0);
    /** Resolves with the topics that the next poll reports. */
    const next = async (afterMs = 1000) => {
      const [before, from] = [polls, reported.length];
      nowMs += afterMs;
      wake();
      await expect.poll(() => polls, SOON).toBeGreaterThan(before);
      return reported.slice(from);
    };
    const [own, other] = [first!.id, second!.id];
    const at = () => new Date(nowMs).toISOString();
    return {
      store,
      feed,
      reported,
      next,
      wake: () => wake(),
      stop,
      problems,
      polls: () => polls,
      looks: () => looks,
      /** Looks at the store take until then. */
      hold(until: Promise<void>) {
        held = until;
      },
      own,
      other,
      at,
    };
  }

  const insert = (store: Store, table: keyof Tables, values: object) =>
    store.write((transaction) =>
      transaction
        .insertInto(table)
        .values(values as never)
        .execute(),
    );

  /** One row in each table that the service's tasks change. */
  async function insertRows(store: Store, organizationId: string): Promise<void> {
    const at = "2026-01-01T00:00:00.000Z";
    await insert(store, "models", { slug: "m", display_name: "m", default_checkpoint_id: "c", created_at: at });
    await insert(store, "checkpoints", { id: "c", model_slug: "m", requirements: "{}", created_at: at });
    const endpoint = { checkpoint_id: "c", region: "eu", url: "u", health_url: "u", health: "unknown" };
    await insert(store, "endpoints", { ...endpoint, contrary_probes: 0, next_probe_at: at });
    const soonMs = Date.now() + 100_000;
    const windows = JSON.stringify([soonMs, soonMs + 100_000]);
    const fleet = {
      id: "f",
      organization_id: organizationId,
      name: "f",
      readiness_mode: "scheduled",
      generation_id: "g",
    } as const;
    await insert(store, "fleets", fleetRow({ ...fleet, operating_windows: windows }));
    const window = { organization_id: organizationId, fleet_id: "f", starts_ms: soonMs, ends_ms: soonMs + 100_000 };
    await insert(store, "fleet_windows", window);
    await insert(store, "generations", { id: "g", fleet_id: "f", subject: "m", checkpoint_id: "c", created_at: at });
    await insert(store, "robots", robotRow({ id: "r", organization_id: organizationId, name: "r" }));
    const deployment = {
      id: "d",
      organization_id: organizationId,
      robot_id: "r",
      model_slug: "m",
      checkpoint_id: "c",
      region: "eu",
    };
    await insert(store, "deployments", { ...deployment, status: "preparing", generation_id: "g2", created_at: at });
  }

  it("changes by the service's tasks and by the passing of time → reported", async () => {
    const { store, next, own, problems } = await scene();
    await insertRows(store, own);
    await next();
    const change = (table: keyof Tables, values: object) =>
      store.write((t) =>
        t
          .updateTable(table)
          .set(values as never)
          .execute(),
      );
    expect(await next()).toEqual([]);
    await change("endpoints", { health: "healthy", health_since: "2026" });
    expect(await next()).toEqual([["fleets", "deployments", "models"]]);
    await change("endpoints", { contrary_probes: 1, last_probed_at: "2026" });
    expect(await next()).toEqual([]);
    await change("generations", { activated_at: "2026" });
    expect(await next()).toEqual([["fleets"]]);
    await change("deployments", { status: "active" });
    expect(await next()).toEqual([["fleets", "deployments", "usage"]]);
    const usage = { usage_type: "t", sku: "s", quantity: 1, unit: "s", period_start: "2026", period_end: "2026" };
    const record = {
      id: "u",
      organization_id: own,
      deployment_id: "d",
      robot_name: "r",
      model_slug: "m",
      created_at: "2026",
    };
    await insert(store, "usage_records", { ...record, ...usage });
    expect(await next()).toEqual([["usage"]]);
    // Without a commit: a window opens.
    expect(await next(45_000)).toEqual([]);
    expect(await next(15_000)).toEqual([TOPICS]);
    expect(await next(40_000)).toEqual([["fleets"]]);
    expect(problems).toEqual([]);
  });

  it("robot comes online or goes offline, also while another does the opposite → reported", async () => {
    const { store, next, own, other, at } = await scene();
    const PRESENCE = ["robots", "fleets"];
    for (const [id, organizationId] of [
      ["r1", own],
      ["r2", own],
      ["r3", other],
    ] as const) {
      await insert(store, "robots", robotRow({ id, organization_id: organizationId, name: id }));
      await insert(store, "installations", installationRow({ id, organization_id: organizationId, robot_id: id }));
    }
    const beat = (id: string) =>
      store.write((t) => t.updateTable("installations").set({ last_seen_at: at() }).where("id", "=", id).execute());
    await beat("r1");
    expect(await next()).toEqual([PRESENCE]);
    for (const id of ["r1", "r3"]) await beat(id);
    expect(await next(9000)).toEqual([]);
    await beat("r2");
    expect(await next(1000)).toEqual([PRESENCE]);
    // Without a commit: r1 goes offline.
    expect(await next(1)).toEqual([PRESENCE]);
    await beat("r1");
    expect(await next(8000)).toEqual([PRESENCE]);
    await beat("r1");
    expect(await next(1000)).toEqual([PRESENCE]);
    expect(await next(8000)).toEqual([]);
    await beat("r2");
    expect(await next(2000)).toEqual([PRESENCE]);
    // It says that it cannot register.
    await store.write((t) =>
      t.updateTable("installations").set({ readiness: "not_ready" }).where("id", "=", "r2").execute(),
    );
    expect(await next(2000)).toEqual([PRESENCE]);
  });

  it("changes by requests, in the own organization and in the catalog → reported", async () => {
    const { store, next, own, other } = await scene();
    let count = 0;
    const act = (organizationId: string | null, action: string) => {
      count += 1;
      const entry = {
        id: `aud_z${String(count).padStart(6, "0")}`,
        organization_id: organizationId,
        action,
        at: "2026",
        actor: "key_1",
      };
      return insert(store, "audit_log", { ...entry, subject_id: "s", details: "{}" });
    };
    await act(other, "robot.setup");
    expect(await next()).toEqual([]);
    await act(null, "models.apply");
    await act(own, "api_key.create");
    expect(await next()).toEqual([["fleets", "deployments", "models", "keys"]]);
    await act(own, "session.create");
    expect(await next()).toEqual([]);
    await act(own, "robot.delete_of_a_later_version");
    expect(await next()).toEqual([TOPICS]);
    // More changes than one poll reads.
    for (let times = 0; times < 220; times += 1) await act(other, "robot.setup");
    expect(await next()).toEqual([]);
    await act(own, "api_key.create");
    for (let times = 0; times < 220; times += 1) await act(other, "robot.setup");
    expect(await next()).toEqual([["keys"]]);
    expect(await next()).toEqual([]);
    expect(await next(FULL_REFRESH_MS)).toEqual([TOPICS]);
  });

  it("many listeners come at once → they share a look at the store, except one that comes while it is read", async () => {
    const { feed, own, looks, hold } = await scene();
    const before = looks();
    const reading = Promise.withResolvers<void>();
    hold(reading.promise);
    const many = Array.from({ length: 100 }, () => feed.listen(own, () => {}));
    await expect.poll(looks, SOON).toBe(before + 1);
    const late = feed.listen(own, () => {});
    reading.resolve();
    await Promise.all([...many, late]);
    expect(looks()).toBe(before + 2);
  });

  it("last listener leaves, another comes → polling stops and starts again", async () => {
    const { store, feed, next, stop, reported, own, polls } = await scene();
    stop();
    await store.write((transaction) =>
      transaction.updateTable("organizations").set({ name: "x" }).where("id", "=", own).execute(),
    );
    const before = polls();
    const reportedAgain: (readonly string[])[] = [];
    const listener = (topics: readonly string[]) => reportedAgain.push(topics);
    // The running loop finds no listener and ends.
    const pending = next().catch(() => "ended");
    await feed.listen(own, listener);
    await pending;
    expect(polls()).toBeGreaterThanOrEqual(before);
    await insertRows(store, own);
    await next();
    expect(reportedAgain).toEqual([["fleets", "deployments", "models", "usage"]]);
    expect(reported).toEqual([]);
  });

  it("changes made without a listener → not reported to the next one", async () => {
    const { store, feed, next, wake, stop, reported, own, polls } = await scene();
    await expect.poll(polls, SOON).toBeGreaterThan(0);
    stop();
    wake();
    // The loop finds no listener and ends without a poll.
    await new Promise((resolve) => setImmediate(resolve));
    await insertRows(store, own);
    const reportedAgain: (readonly string[])[] = [];
    await feed.listen(own, (topics) => reportedAgain.push(topics));
    expect(reportedAgain).toEqual([]);
    await store.write((transaction) =>
      transaction.updateTable("endpoints").set({ health: "healthy", health_since: "2026" }).execute(),
    );
    await next();
    expect(reportedAgain).toEqual([["fleets", "deployments", "models"]]);
    expect(reported).toEqual([]);
  });
});
