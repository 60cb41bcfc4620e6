import { describe, expect, it, onTestFinished } from "vitest";

import { loginStartSchema } from "../../../../src/api/logins.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { hashSecret } from "../../../../src/service/kernel/auth/token.ts";
import { createLog } from "../../../../src/service/kernel/log.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import { commandAuthor } from "../../../../src/service/kernel/store/audit.ts";
import { insertKey, makeKey } from "../../../../src/service/keys/keys.ts";
import {
  createPruneLogins,
  findLogin,
  insertLogin,
  LOGIN_LIFETIME_MS,
  type LoginRow,
  LOGINS_MAXIMUM,
  type LoginState,
  loginState,
  POLL_INTERVAL_S,
  userCode,
} from "../../../../src/service/logins/logins.ts";
import { openSession } from "../../../../src/service/logins/sessions.ts";
import { testFolder } from "../../../support/folder.ts";
import { openServiceParts, PRINCIPAL } from "../../../support/service/service-parts.ts";

const VERIFIER = "v".repeat(43);
const STARTED_MS = Date.parse("2026-03-01T12:00:00.000Z");
const at = (ms: number) => new Date(STARTED_MS + ms).toISOString();

const pending: LoginRow = {
  id: "login_1",
  verifier_sha256: hashSecret(VERIFIER),
  callback_url: "http://127.0.0.1:1/",
  client_address: "198.51.100.1",
  client_site: "198.51.100.1",
  client_program: null,
  delivery: null,
  state: "pending",
  code_sha256: null,
  organization_id: null,
  approved_by: null,
  last_polled_at: null,
  created_at: at(0),
  expires_at: at(LOGIN_LIFETIME_MS),
};

describe("loginState", () => {
  it.each<[what: string, login: LoginRow | undefined, after_ms: number, state: LoginState["state"], detail?: string]>([
    ["pending, never polled", pending, 0, "pending"],
    ["pending, polled a second ago", { ...pending, last_polled_at: at(9000) }, 10_000, "too-fast"],
    ["pending, polled a poll's time ago", { ...pending, last_polled_at: at(0) }, POLL_INTERVAL_S * 1000, "pending"],
    ["pending, a timer was early", { ...pending, last_polled_at: at(0) }, POLL_INTERVAL_S * 1000 - 400, "pending"],
    ["pending, the clock went back since", { ...pending, last_polled_at: at(60_000) }, 1000, "pending"],
    ["pending, a moment before it expires", pending, LOGIN_LIFETIME_MS - 1, "pending"],
    ["expired", pending, LOGIN_LIFETIME_MS, "refused", "Login has expired"],
    ["approved", { ...pending, state: "approved", last_polled_at: at(0) }, 1, "approved"],
    ["approved, but expired", { ...pending, state: "approved" }, LOGIN_LIFETIME_MS, "refused", "Login has expired"],
    ["denied", { ...pending, state: "denied" }, 1, "refused", "Login was denied"],
    ["used", { ...pending, state: "used" }, 1, "refused", "Login was already used"],
    ["of nobody", undefined, 1, "refused", "Invalid login"],
    ["of another", { ...pending, state: "approved", verifier_sha256: hashSecret("x") }, 1, "refused", "Invalid login"],
  ])("%s", (_what, login, afterMs, state, detail) => {
    const found = loginState(login, VERIFIER, STARTED_MS + afterMs, "poll");
    expect(found.state).toBe(state);
    if (found.state === "refused") expect(found.detail).toBe(detail);
  });
});

describe("loginState of an approval", () => {
  const approved = { ...pending, state: "approved" } as const;

  it.each([
    [null, "poll", "approved"],
    [null, "redirect", "approved"],
    ["redirect", "redirect", "approved"],
    ["redirect", "poll", "pending"],
    ["poll", "poll", "approved"],
    ["poll", "redirect", "pending"],
  ] as const)("that goes by %s, for who comes by %s: %s", (delivery, way, state) => {
    expect(loginState({ ...approved, delivery }, VERIFIER, STARTED_MS, way).state).toBe(state);
  });

  it("fast polling of a redirect login → too-fast, then expired", () => {
    const login = { ...approved, delivery: "redirect", last_polled_at: at(0) } as const;
    expect(loginState(login, VERIFIER, STARTED_MS + 1000, "poll").state).toBe("too-fast");
    expect(loginState(login, VERIFIER, STARTED_MS + LOGIN_LIFETIME_MS, "poll").state).toBe("refused");
  });
});

describe("openSession", () => {
  const LIFETIME_MS = 60_000;

  it.each([
    ["without an expiry", null, LIFETIME_MS],
    ["that expires after its longest time", LIFETIME_MS + 1, LIFETIME_MS],
    ["that expires before", LIFETIME_MS - 1, LIFETIME_MS - 1],
  ])("session of a key %s → expires with whatever ends first", async (_what, keyEndsMs, expectedMs) => {
    await using parts = await openServiceParts();
    const { store, context } = parts;
    const { organizationId } = PRINCIPAL;
    const expiresAt = keyEndsMs === null ? null : parts.at(keyEndsMs);
    const wish = { organization_id: organizationId, label: "l", scopes: null, expires_at: expiresAt };
    const { row } = makeKey(wish, "command", parts.at(), systemRandom);
    const origin = {
      author: commandAuthor(context, organizationId),
      organizationId,
      keyId: row.id,
      kind: "cli",
      lifetimeMs: LIFETIME_MS,
      details: {},
    } as const;
    const ends = await store.write(async (transaction) => {
      await insertKey(transaction, row);
      return openSession(transaction, { id: "ses_1", token_sha256: "t" }, origin);
    });
    expect(ends).toBe(parts.at(expectedMs));
    const [session] = await store.reader.selectFrom("sessions").select("expires_at").execute();
    expect(session?.expires_at).toBe(ends);
  });
});

describe("userCode", () => {
  it("short, without vowels, different for each login", () => {
    expect(userCode("login_1")).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(userCode("login_1")).toBe(userCode("login_1"));
    expect(userCode("login_1")).not.toBe(userCode("login_2"));
  });
});

describe("loginStartSchema", () => {
  const takes = (callbackUrl: string) =>
    loginStartSchema.safeParse({ verifier: VERIFIER, callback_url: callbackUrl }).success;
  it.each([
    "http://127.0.0.1:1/",
    "http://localhost:65535/cb?state=a%20b",
    "http://[::1]:8080",
    "http://127.0.0.1:54321?a=b@c",
  ])("%s → accepted", (url) => expect(takes(url)).toBe(true));
  it.each([
    "https://127.0.0.1/",
    "http://example.com/",
    "http://127.0.0.1.example.com/",
    "http://127.0.0.1@example.com/",
    "http://me@127.0.0.1/",
    "http://0.0.0.0/",
    "http://127.0.0.1:65536/",
    "http://127.1/",
    "http:127.0.0.1/",
    "http://127.0.0.1/#fragment",
    "http://127.0.0.1\\@example.com/",
    " http://127.0.0.1/",
    "http://127.0.0.1/\n",
    "http://127.0.0.1/\r\nset-cookie: a=b",
    "http://[::ffff:8.8.8.8]/",
    "//example.com/",
    "file:///etc/passwd",
    "127.0.0.1",
    "",
    "http://127.0.0.1/é",
    "javascript:alert(1)",
    "x",
  ])("%j → refused", (url) => expect(takes(url)).toBe(false));
});

const MACHINE = {
  clock: systemClock,
  files: systemFiles,
  random: systemRandom,
  log: createLog("silent", { write() {} }),
};

/** A store with the maximum number of logins, all created at the same moment. */
async function fullStore(): Promise<Store> {
  const dataDirectory = testFolder("login");
  const store = await openStore({ kind: "sqlite", dataDirectory }, MACHINE);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const logins = Array.from({ length: LOGINS_MAXIMUM }, (_, index) => ({ ...pending, id: `login_old_${index}` }));
  await store.write(async (transaction) => {
    for (let start = 0; start < logins.length; start += 500) {
      await transaction
        .insertInto("login_exchanges")
        .values(logins.slice(start, start + 500))
        .execute();
    }
  });
  return store;
}

const count = async ({ reader }: Store) => (await reader.selectFrom("login_exchanges").select("id").execute()).length;

describe("logins in the store", () => {
  it("more than LOGINS_MAXIMUM → the oldest is removed, so that nobody locks others out", async () => {
    const store = await fullStore();
    const newest = `login_old_${LOGINS_MAXIMUM - 1}`;
    await store.write((transaction) => insertLogin(transaction, { ...pending, id: "login_zzz" }));
    expect(await count(store)).toBe(LOGINS_MAXIMUM);
    const found = await Promise.all(["login_zzz", newest, "login_old_0"].map((id) => findLogin(store.reader, id)));
    expect(found.map((login) => login?.id)).toEqual(["login_zzz", newest, undefined]);
  });

  it("many logins of one site → those of others stay", async () => {
    const store = await fullStore();
    const start = (id: string, clientSite: string) =>
      store.write((transaction) => insertLogin(transaction, { ...pending, id, client_site: clientSite }));
    await start("login_a_waiting", "192.0.2.1");
    for (let index = 0; index < 20; index += 1) await start(`login_z_${index}`, pending.client_site);
    const found = await Promise.all(["login_a_waiting", "login_z_19"].map((id) => findLogin(store.reader, id)));
    expect(found.map((login) => login?.id)).toEqual(["login_a_waiting", "login_z_19"]);
    expect(await count(store)).toBe(LOGINS_MAXIMUM);
  });

  it("expired logins → all are removed", async () => {
    const store = await fullStore();
    const prune = (ms: number) => {
      const clock = { ...systemClock, wallMs: () => STARTED_MS + ms };
      return createPruneLogins({ store, machine: { ...MACHINE, clock } }).run(new AbortController().signal);
    };
    await prune(LOGIN_LIFETIME_MS);
    expect(await count(store)).toBe(LOGINS_MAXIMUM);
    await prune(LOGIN_LIFETIME_MS + 1);
    expect(await count(store)).toBe(0);
  });
});
