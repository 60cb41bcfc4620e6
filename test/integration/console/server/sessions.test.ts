import { cp, readdir, readFile, rm } from "node:fs/promises";
import { type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";

import * as z from "zod";
import { describe, expect, it, onTestFinished } from "vitest";

import { apiKeyCreatedSchema } from "../../../../src/api/keys.ts";
import { sessionViewSchema } from "../../../../src/api/logins.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import {
  API_KEY_PREFIX,
  CONSOLE_TOKEN_PREFIX,
  createToken,
  hashSecret,
  SESSION_TOKEN_PREFIX,
} from "../../../../src/service/kernel/auth/token.ts";
import { authenticate } from "../../../../src/service/kernel/auth/authenticate.ts";
import { CONSOLE_IDLE_MS } from "../../../../src/service/kernel/auth/session-queries.ts";
import { createLastUsed } from "../../../../src/service/kernel/auth/last-used.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { StoreLocation } from "../../../../src/service/kernel/store/store.ts";
import { insertKey, makeKey } from "../../../../src/service/keys/keys.ts";
import { CONSOLE_LIFETIME_MS, CONSOLE_SESSIONS_MAXIMUM, signIn } from "../../../../src/service/logins/sessions.ts";
import type { ServiceConfiguration } from "../../../../src/service/service.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { type RunningService, startService } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const FROM_CONSOLE = { "x-robot-policy-console": "1" };
const CALLBACK = "http://127.0.0.1:1234/done";
const refusalSchema = z.object({ detail: z.string() });
const loginSchema = z.object({ state: z.string(), callback_url: z.string() });

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

interface Scene {
  readonly running: RunningService;
  advance(ms: number): void;
  /** Sends a request with exactly these headers. */
  ask(method: string, path: string, headers?: OutgoingHttpHeaders, body?: unknown): Promise<Answer>;
  signIn(apiKey?: string, headers?: OutgoingHttpHeaders): Promise<Answer>;
  /** Signs in. @returns the cookie header that a browser sends afterwards. */
  browse(apiKey?: string): Promise<{ readonly cookie: string }>;
  makeKey(members?: object): Promise<{ readonly id: string; readonly api_key: string }>;
}

async function scene(store?: StoreLocation, configuration: Partial<ServiceConfiguration> = {}): Promise<Scene> {
  let clockOffsetMs = 0;
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + clockOffsetMs };
  const running = await testService({ store, clock, configuration: { consoleFolder: "/nowhere", ...configuration } });
  const ask: Scene["ask"] = async (method, path, headers = {}, body) => {
    const sent = request(running.url + path, { method, headers, agent: false });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
  };
  const signIn: Scene["signIn"] = (apiKey = running.key, headers = {}) =>
    ask(
      "POST",
      "/console/session",
      { ...FROM_CONSOLE, "content-type": "application/json", ...headers },
      { api_key: apiKey },
    );
  const browse: Scene["browse"] = async (apiKey) => {
    const { headers } = await signIn(apiKey);
    return { cookie: (headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "" };
  };
  const makeKey: Scene["makeKey"] = async (members = {}) => {
    const answer = await running.send("POST", "/v1/me/api-keys", { label: "k", ...members });
    return apiKeyCreatedSchema.parse(await answer.json());
  };
  const advance = (ms: number) => {
    clockOffsetMs += ms;
  };
  return { running, advance, ask, signIn, browse, makeKey };
}

const refusal = ({ status, body }: Answer) => [status, refusalSchema.parse(JSON.parse(body)).detail];

describeOnEachStore("console session", (newStore) => {
  it("sign-in with a key → a session that names its person and key", async () => {
    const { running, ask, signIn } = await scene(await newStore());
    const answer = await signIn();
    expect([answer.status, answer.headers["cache-control"]]).toEqual([200, "no-store"]);
    const [cookie = ""] = answer.headers["set-cookie"] ?? [];
    const { port } = new URL(running.url);
    expect(cookie.replace(/rps_console_\w{28}/, "TOKEN")).toBe(
      `rps_session_${port}=TOKEN; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict`,
    );
    const view = sessionViewSchema.parse(JSON.parse(answer.body));
    expect(view.credential).toMatchObject({ type: "session", scopes: null, id: expect.stringMatching(/^ses_/) });
    const own = await ask("GET", "/v1/me/session", { ...FROM_CONSOLE, cookie: cookie.split(";")[0] });
    expect(JSON.parse(own.body)).toEqual(view);
    expect(own.headers["cache-control"]).toBe("no-store");
    // The token is only in the cookie.
    expect(answer.body + running.log()).not.toMatch(/rps_console_|sk_rps_/);
  });

  it("database → contains no token in plain text", async () => {
    const { running, browse } = await scene(undefined);
    const { cookie } = await browse();
    const names = (await readdir(running.dataDirectory)).filter((name) => name.startsWith("service.db"));
    const texts = await Promise.all(names.map((name) => readFile(join(running.dataDirectory, name), "latin1")));
    expect(cookie).toContain("rps_console_");
    expect(texts.join("")).not.toContain("rps_console_");
  });

  it("restricted key → session with exactly its scopes", async () => {
    const { ask, browse, makeKey } = await scene(await newStore());
    const { api_key: apiKey } = await makeKey({ scopes: ["robots:read"] });
    const headers = { ...FROM_CONSOLE, ...(await browse(apiKey)) };
    expect((await ask("GET", "/v1/robots", headers)).status).toBe(200);
    expect((await ask("GET", "/v1/me/api-keys", headers)).status).toBe(403);
    const view = sessionViewSchema.parse(JSON.parse((await ask("GET", "/v1/me/session", headers)).body));
    expect(view.credential?.scopes).toEqual(["robots:read"]);
    const start = { verifier: "v".repeat(43), callback_url: CALLBACK };
    const started = await ask("POST", "/v1/cli/login/start", { "content-type": "application/json" }, start);
    const { exchange_id: exchangeId } = z.object({ exchange_id: z.string() }).parse(JSON.parse(started.body));
    const decision = { exchange_id: exchangeId, decision: "approve" };
    const json = { ...headers, "content-type": "application/json" };
    expect(refusal(await ask("POST", "/v1/cli/login/decide", json, decision))).toEqual([
      403,
      "A restricted API key cannot approve a login, because a session may do everything",
    ]);
  });

  it("key revoked → ends", async () => {
    const { running, ask, browse, makeKey } = await scene(await newStore());
    const { id, api_key: apiKey } = await makeKey();
    const headers = { ...FROM_CONSOLE, ...(await browse(apiKey)) };
    expect((await ask("GET", "/v1/robots", headers)).status).toBe(200);
    await running.send("DELETE", `/v1/me/api-keys/${id}`);
    expect(refusal(await ask("GET", "/v1/robots", headers))).toEqual([401, "Session has ended"]);
  });

  it("key expires → expires with it", async () => {
    const { ask, signIn, makeKey, advance } = await scene(await newStore());
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { api_key: apiKey } = await makeKey({ expires_at: expiresAt });
    const answer = await signIn(apiKey);
    const [cookie = ""] = answer.headers["set-cookie"] ?? [];
    expect(Number(/Max-Age=(\d+)/.exec(cookie)?.[1])).toBeLessThanOrEqual(3600);
    const headers = { ...FROM_CONSOLE, cookie: cookie.split(";")[0] };
    expect((await ask("GET", "/v1/robots", headers)).status).toBe(200);
    advance(3_600_001);
    expect(refusal(await ask("GET", "/v1/robots", headers))).toEqual([401, "Session has expired"]);
  });

  it("unused for half a day → expires; used → expires after a week", async () => {
    let nowMs = Date.parse("2026-03-01T00:00:00Z");
    const clock = { ...systemClock, wallMs: () => nowMs };
    const machine = { ...testMachine, clock };
    const newId = createIds(clock, systemRandom);
    await using store = await openStore(await newStore(), machine);
    const at = new Date(nowMs).toISOString();
    const { row } = makeKey(
      { organization_id: "org_1", label: "k", scopes: null, expires_at: null },
      "key_1",
      at,
      systemRandom,
    );
    await store.write(async (transaction) => {
      await transaction.insertInto("organizations").values({ id: "org_1", name: "lab", created_at: at }).execute();
      await insertKey(transaction, row);
    });
    const [unusedToken, usedToken] = [
      createToken(CONSOLE_TOKEN_PREFIX, systemRandom),
      createToken(CONSOLE_TOKEN_PREFIX, systemRandom),
    ];
    for (const token of [unusedToken, usedToken]) {
      const session = { id: newId("ses"), token_sha256: hashSecret(token) };
      const origin = { organizationId: "org_1", keyId: "key_1" };
      const author = { auditId: newId("aud"), at, organizationId: "org_1", actor: "key_1", requestId: null };
      await store.write((transaction) => signIn(transaction, origin, session, author));
    }
    const use = async (token: string, afterMs: number): Promise<string> => {
      nowMs = Date.parse(at) + afterMs;
      const result = await authenticate(store.reader, clock, { kind: "console", token });
      if (result.state === "unauthorized") return result.detail;
      const lastUsed = createLastUsed(store, machine);
      lastUsed.note(result.principal);
      await lastUsed.flush();
      return "accepted";
    };
    expect(await use(unusedToken, CONSOLE_IDLE_MS)).toBe("Session has expired");
    for (let afterMs = CONSOLE_IDLE_MS - 1; afterMs < CONSOLE_LIFETIME_MS; afterMs += CONSOLE_IDLE_MS - 1) {
      expect([afterMs, await use(usedToken, afterMs)]).toEqual([afterMs, "accepted"]);
    }
    expect(await use(usedToken, CONSOLE_LIFETIME_MS)).toBe("Session has expired");
  });

  it("sign-out → ends, also at a repeat, and no other session does", async () => {
    const { ask, browse, running } = await scene(await newStore());
    const [own, other] = [await browse(), await browse()];
    for (let times = 0; times < 2; times += 1) {
      const answer = await ask("DELETE", "/console/session", { ...FROM_CONSOLE, ...own });
      expect([answer.status, JSON.parse(answer.body)]).toEqual([200, { authenticated: false }]);
      expect(answer.headers["set-cookie"]?.[0]).toMatch(/=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/);
    }
    expect(refusal(await ask("GET", "/v1/robots", { ...FROM_CONSOLE, ...own }))).toEqual([401, "Session has ended"]);
    expect((await ask("GET", "/v1/robots", { ...FROM_CONSOLE, ...other })).status).toBe(200);
    expect((await running.send("GET", "/v1/robots")).status).toBe(200);
  });

  it("more sessions of one key than allowed → the oldest ends", async () => {
    const location = await newStore();
    const { ask, browse } = await scene(location);
    const first = await browse();
    const second = await browse();
    await using store = await openStore(location, testMachine);
    const newest = await store.reader
      .selectFrom("sessions")
      .selectAll()
      .orderBy("id", "desc")
      .executeTakeFirstOrThrow();
    const others = Array.from({ length: CONSOLE_SESSIONS_MAXIMUM - 2 }, (_, index) => ({
      ...newest,
      id: `${newest.id}-${index}`,
      token_sha256: hashSecret(`token ${index}`),
    }));
    await store.write((transaction) => transaction.insertInto("sessions").values(others).execute());
    expect((await ask("GET", "/v1/robots", { ...FROM_CONSOLE, ...first })).status).toBe(200);
    await browse();
    expect(refusal(await ask("GET", "/v1/robots", { ...FROM_CONSOLE, ...first }))).toEqual([401, "Invalid session"]);
    expect((await ask("GET", "/v1/robots", { ...FROM_CONSOLE, ...second })).status).toBe(200);
  });

  it("created by a key, ended → both in the audit log", async () => {
    const { ask, browse, running } = await scene();
    const cookie = await browse();
    await ask("DELETE", "/console/session", { ...FROM_CONSOLE, ...cookie });
    using database = new DatabaseSync(join(running.dataDirectory, "service.db"), { readOnly: true });
    const entries = database.prepare("select action, actor, subject_id, details from audit_log order by id").all();
    const [key, session] = [expect.stringMatching(/^key_/), expect.stringMatching(/^ses_/)];
    expect(structuredClone(entries).slice(-2)).toEqual([
      { action: "session.create", actor: key, subject_id: session, details: '{"kind":"console"}' },
      { action: "session.end", actor: session, subject_id: session, details: "{}" },
    ]);
  });

  it("approves a login after reading it", async () => {
    const { ask, browse, advance } = await scene(await newStore());
    const headers = { ...FROM_CONSOLE, ...(await browse()), "content-type": "application/json" };
    const start = async () => {
      const body = { verifier: "v".repeat(43), callback_url: CALLBACK };
      const answer = await ask("POST", "/v1/cli/login/start", { "content-type": "application/json" }, body);
      return z.object({ exchange_id: z.string() }).parse(JSON.parse(answer.body)).exchange_id;
    };
    const view = async (id: string) =>
      loginSchema.parse(JSON.parse((await ask("GET", `/console/logins/${id}`, headers)).body));
    const exchangeId = await start();
    expect(await view(exchangeId)).toEqual({ state: "pending", callback_url: CALLBACK });
    const decided = await ask("POST", "/v1/cli/login/decide", headers, {
      exchange_id: exchangeId,
      decision: "approve",
    });
    expect(decided.status).toBe(200);
    expect((await view(exchangeId)).state).toBe("approved");
    // Only signed-in people see a login; an unknown one is not found.
    expect((await ask("GET", `/console/logins/${exchangeId}`)).status).toBe(401);
    expect((await ask("GET", "/console/logins/login_1", headers)).status).toBe(404);
    const late = await start();
    advance(600_001);
    const answer = await ask("GET", `/console/logins/${late}`, headers);
    // The service removes it soon after it expires.
    expect(answer.status === 404 || answer.body.includes('"state":"expired"')).toBe(true);
  });
});

describe("sign-in", () => {
  it.each([
    ["text that is not a key", "hello", 401, "Invalid API key"],
    ["unknown key", createToken(API_KEY_PREFIX, systemRandom), 401, "Invalid API key"],
    [
      "unknown session token of the command line",
      createToken(SESSION_TOKEN_PREFIX, systemRandom),
      401,
      "Invalid session token",
    ],
    ["unknown session token of the console", createToken(CONSOLE_TOKEN_PREFIX, systemRandom), 401, "Invalid API key"],
  ])("%s → refused", async (_what, apiKey, status, detail) => {
    const { signIn } = await scene();
    const answer = await signIn(apiKey);
    expect(refusal(answer)).toEqual([status, detail]);
    expect(answer.headers["set-cookie"]).toBeUndefined();
  });

  it("blanks around the key, which copying adds → ignored", async () => {
    const { running, signIn } = await scene();
    expect((await signIn(` ${running.key}\n`)).status).toBe(200);
  });

  it("key for enrolments → refused", async () => {
    const { makeKey, signIn } = await scene();
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const { api_key: apiKey } = await makeKey({
      scopes: ["robots:enroll"],
      expires_at: expiresAt,
      enrollment: { uses: 1 },
    });
    expect(refusal(await signIn(apiKey))).toEqual([403, "A key for enrolments cannot sign in to the console"]);
  });

  it("valid session token of the command line → refused", async () => {
    const { running, ask, signIn } = await scene();
    const json = { "content-type": "application/json" };
    const verifier = "v".repeat(43);
    const started = await ask("POST", "/v1/cli/login/start", json, { verifier, callback_url: CALLBACK });
    const { exchange_id: exchangeId } = z.object({ exchange_id: z.string() }).parse(JSON.parse(started.body));
    await running.send("POST", "/v1/cli/login/decide", { exchange_id: exchangeId, decision: "approve" });
    const polled = await ask("POST", "/v1/cli/login/poll", json, { exchange_id: exchangeId, verifier });
    const { token } = z.object({ token: z.string() }).parse(JSON.parse(polled.body));
    expect(refusal(await signIn(token))).toEqual([401, "Invalid API key"]);
  });

  it("wrong keys → rate limited by address", async () => {
    const few = { per_second: 0.001, burst: 3 };
    const { signIn } = await scene(undefined, { rateLimit: { credential: few, address: few } });
    const statuses = [];
    for (let count = 0; count < 4; count += 1) {
      const answer = await signIn(createToken(API_KEY_PREFIX, systemRandom));
      statuses.push([answer.status, answer.headers["retry-after"] !== undefined]);
    }
    expect(statuses).toEqual([
      [401, false],
      [401, false],
      [401, false],
      [429, true],
    ]);
  });

  it("invalid body → refused without the key in the answer", async () => {
    const { running, ask } = await scene();
    const headers = { ...FROM_CONSOLE, "content-type": "application/json" };
    for (const body of [{}, { api_key: 1 }, { api_key: [running.key] }, { apikey: running.key }, [running.key], "x"]) {
      const answer = await ask("POST", "/console/session", headers, body);
      expect(answer.status).toBe(422);
      expect(answer.body).not.toContain(running.key);
    }
    expect((await ask("POST", "/console/session", headers, { api_key: "x".repeat(300) })).status).toBe(422);
  });
});

describe("session cookie", () => {
  it("other tokens → refused; console token in the Authorization header → refused", async () => {
    const { running, ask, browse } = await scene();
    const { cookie } = await browse();
    const [name = "", token = ""] = cookie.split("=");
    const get = async (headers: OutgoingHttpHeaders) =>
      (await ask("GET", "/v1/robots", { ...FROM_CONSOLE, ...headers })).status;
    expect(await get({ cookie })).toBe(200);
    expect(await get({ authorization: `Bearer ${token}` })).toBe(401);
    expect(await get({ cookie: `${name}=${running.key}` })).toBe(401);
    expect(await get({ cookie: `${name}=${createToken(SESSION_TOKEN_PREFIX, systemRandom)}` })).toBe(401);
    expect(await get({ cookie: `a=b; ${cookie}; c=d` })).toBe(200);
    expect(await get({ cookie: `x${cookie}` })).toBe(401);
    expect(await get({ cookie: `rps_session=${token}` })).toBe(401);
    expect(await get({ cookie: `__Host-${cookie}` })).toBe(401);
    expect(await get({ cookie: `${name}=` })).toBe(401);
  });

  it("Authorization header, valid or not → the cookie is ignored", async () => {
    const { running, ask, browse, makeKey } = await scene();
    const { cookie } = await browse();
    const { api_key: apiKey } = await makeKey({ scopes: ["robots:read"] });
    const get = async (authorization: string) =>
      (await ask("GET", "/v1/me/api-keys", { ...FROM_CONSOLE, cookie, authorization })).status;
    expect(await get(`Bearer ${running.key}`)).toBe(200);
    expect(await get(`Bearer ${apiKey}`)).toBe(403);
    expect(await get("Bearer nonsense")).toBe(401);
    expect(await get("Basic eDp5")).toBe(401);
    expect(await get("")).toBe(401);
  });

  it.each<[string, OutgoingHttpHeaders, number]>([
    ["the page itself", { "sec-fetch-site": "same-origin" }, 200],
    ["the page itself, and its origin", { "sec-fetch-site": "same-origin", origin: "OWN" }, 200],
    ["an old browser, or plain HTTP", { origin: "OWN" }, 200],
    ["a browser without Sec-Fetch-Site and Origin", {}, 200],
    ["another site", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }, 401],
    ["another port of the host", { "sec-fetch-site": "same-site" }, 401],
    ["the person's own address bar", { "sec-fetch-site": "none" }, 401],
    ["another site in an old browser", { origin: "https://evil.example" }, 401],
    ["another port in an old browser", { origin: "http://127.0.0.1:1" }, 401],
    ["the same host by another scheme", { origin: "HTTPS" }, 401],
    ["a frame with an opaque origin", { origin: "null" }, 401],
    ["another page, whose origin a proxy changed", { "sec-fetch-site": "cross-site", origin: "OWN" }, 401],
    ["a client with two Sec-Fetch-Site headers", { "sec-fetch-site": ["same-origin", "cross-site"] }, 401],
    ["a client with an empty console header", { "x-robot-policy-console": "" }, 401],
    ["a client with another console header", { "x-robot-policy-console": "true" }, 401],
  ])("sent by %s: %j → %i", async (_who, headers, status) => {
    const { running, ask, browse } = await scene();
    const { cookie } = await browse();
    const own = new URL(running.url).origin;
    const origin = { OWN: own, HTTPS: own.replace("http:", "https:") }[String(headers["origin"])] ?? headers["origin"];
    const sent = { ...FROM_CONSOLE, ...headers, cookie, ...(origin === undefined ? {} : { origin }) };
    expect((await ask("GET", "/v1/robots", sent)).status).toBe(status);
    const json = { ...sent, "content-type": "application/json" };
    expect((await ask("POST", "/v1/me/api-keys", json, { label: "k" })).status).toBe(status);
    // The same rule holds for sign-in and sign-out: it is an attack to sign a person in as somebody else.
    const { cookie: _cookie, ...withoutCookie } = json;
    const expected = status === 200 ? 200 : 403;
    const signedIn = await ask("POST", "/console/session", withoutCookie, { api_key: running.key });
    expect(signedIn.status).toBe(expected);
    expect((await ask("DELETE", "/console/session", sent)).status).toBe(expected);
    expect((await ask("GET", "/v1/robots", { ...FROM_CONSOLE, cookie })).status).toBe(status === 200 ? 401 : 200);
  });

  it("host name of a DNS rebinding attack, hence no cookie → refused", async () => {
    const { ask } = await scene();
    const rebound = { ...FROM_CONSOLE, host: "evil.example", origin: "http://evil.example" };
    expect((await ask("GET", "/v1/robots", rebound)).status).toBe(401);
    expect((await ask("GET", "/console/versions", rebound)).status).toBe(401);
  });

  it("other origin → no CORS headers, so it cannot read answers or add headers", async () => {
    const { ask, browse } = await scene();
    const { cookie } = await browse();
    const origin = "https://evil.example";
    const preflight = {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "x-robot-policy-console",
    };
    for (const path of ["/v1/robots", "/v1/me/api-keys", "/console/session", "/console/versions", "/"]) {
      for (const { headers } of [await ask("OPTIONS", path, preflight), await ask("GET", path, { origin, cookie })]) {
        expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      }
    }
  });

  it("console off → ignored", async () => {
    const first = await scene();
    const { cookie } = await first.browse();
    const { dataDirectory, key } = first.running;
    const copy = `${dataDirectory}-copy`;
    await cp(dataDirectory, copy, { recursive: true });
    onTestFinished(() => rm(copy, { recursive: true }));
    for (const [consoleFolder, status] of [
      ["/nowhere", 200],
      [null, 401],
    ] as const) {
      await using running = await startService({ dataDirectory: copy, configuration: { consoleFolder } });
      const own = cookie.replace(/^\w+=/, `rps_session_${new URL(running.url).port}=`);
      const get = async (headers: Record<string, string>) =>
        (await fetch(`${running.url}/v1/robots`, { headers })).status;
      expect(await get({ ...FROM_CONSOLE, cookie: own })).toBe(status);
      expect(await get({ authorization: `Bearer ${key}` })).toBe(200);
    }
  });
});

describe("behind a TLS proxy", () => {
  const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": "robots.example" };

  it("sign-in → the cookie is Secure and bound to the host", async () => {
    const { ask, signIn } = await scene(undefined, { trustedProxies: ["127.0.0.1"] });
    const answer = await signIn(undefined, forwarded);
    const [cookie = ""] = answer.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(
      /^__Host-rps_session=rps_console_\w+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
    );
    const sent = { ...FROM_CONSOLE, cookie: cookie.split(";")[0] };
    expect((await ask("GET", "/v1/robots", { ...sent, ...forwarded })).status).toBe(200);
    // A cookie set over plain HTTP is refused.
    const plain = sent.cookie?.replace("__Host-", "");
    expect((await ask("GET", "/v1/robots", { ...sent, ...forwarded, cookie: plain })).status).toBe(401);
    const origins: readonly (readonly [string, number])[] = [
      ["https://robots.example", 200],
      ["http://robots.example", 401],
      ["https://evil.example", 401],
    ];
    for (const [origin, status] of origins) {
      expect((await ask("GET", "/v1/robots", { ...sent, ...forwarded, origin })).status).toBe(status);
    }
  });

  it("proxy rewrites the host → Sec-Fetch-Site decides", async () => {
    const { ask, signIn } = await scene(undefined, { trustedProxies: ["127.0.0.1"] });
    const rewritten = { "x-forwarded-proto": "https", origin: "https://robots.example" };
    const answer = await signIn(undefined, { ...rewritten, "sec-fetch-site": "same-origin" });
    const cookie = (answer.headers["set-cookie"]?.[0] ?? "").split(";")[0];
    const sent = { ...FROM_CONSOLE, ...rewritten, cookie };
    expect((await ask("GET", "/v1/robots", { ...sent, "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await ask("GET", "/v1/robots", { ...sent, "sec-fetch-site": "cross-site" })).status).toBe(401);
  });

  it("proxy not trusted → its headers are ignored", async () => {
    const { signIn } = await scene();
    const [cookie = ""] = (await signIn(undefined, forwarded)).headers["set-cookie"] ?? [];
    expect(cookie).not.toMatch(/__Host-|Secure/);
  });
});
