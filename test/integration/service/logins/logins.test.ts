import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";
import { expect, it } from "vitest";

import { apiKeyCreatedSchema } from "../../../../src/api/keys.ts";
import { loginDecidedSchema, loginStartedSchema, loginTokenSchema } from "../../../../src/api/logins.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import type { StoreLocation } from "../../../../src/service/kernel/store/store.ts";
import type { RunningService } from "../../../support/service/service.ts";
import { startSlowRequest } from "../../../support/service/slow-request.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const VERIFIER = "v".repeat(43);
const refusalSchema = z.object({ detail: z.string() });

interface Scene {
  readonly running: RunningService;
  /** Advances the wall clock of the service. */
  advance(ms: number): void;
  /** Sends a request with this credential, or without one. */
  call(token: string | null, method: string, path: string, body?: object): Promise<Response>;
  /** Starts a login; resolves with its id. */
  start(): Promise<string>;
  approve(exchangeId: string, token?: string): Promise<string>;
  exchange(exchangeId: string, code: string): Promise<Response>;
  /** Completes a login, approved with this credential; resolves with the token of the session. */
  logIn(token?: string): Promise<string>;
}

/** @param pace how much faster than ours the clock of the service runs, by which it knows how long a request takes. */
async function scene(store: StoreLocation | undefined, { pace = 1 } = {}): Promise<Scene> {
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() * pace,
  };
  const running = await testService({ store, clock });
  const call: Scene["call"] = (token, method, path, body) =>
    fetch(running.url + path, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        "content-type": "application/json",
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const start = async () => {
    const body = { verifier: VERIFIER, callback_url: "http://127.0.0.1:1234/done?state=a" };
    const answer = await call(null, "POST", "/v1/cli/login/start", body);
    return loginStartedSchema.parse(await answer.json()).exchange_id;
  };
  const approve = async (exchangeId: string, token = running.key) => {
    const answer = await call(token, "POST", "/v1/cli/login/decide", { exchange_id: exchangeId, decision: "approve" });
    const { redirect_url: redirectUrl } = loginDecidedSchema.parse(await answer.json());
    return new URL(redirectUrl).searchParams.get("code") ?? "";
  };
  const exchange = (exchangeId: string, code: string) =>
    call(null, "POST", "/v1/cli/login/exchange", { exchange_id: exchangeId, code, verifier: VERIFIER });
  const logIn = async (token = running.key) => {
    const exchangeId = await start();
    const answer = await exchange(exchangeId, await approve(exchangeId, token));
    return loginTokenSchema.parse(await answer.json()).token;
  };
  const advance = (ms: number) => {
    aheadMs += ms;
  };
  return { running, advance, call, start, approve, exchange, logIn };
}

/** The content of all files of a store on SQLite. */
async function filesIn(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.startsWith("service.db"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "latin1")));
  return texts.join("");
}

async function expectRefused(answer: Response, detail: string): Promise<void> {
  expect([answer.status, refusalSchema.parse(await answer.json()).detail]).toEqual([401, detail]);
  expect(answer.headers.get("www-authenticate")).toBe("Bearer");
}

describeOnEachStore("logins of a command line", (newStore) => {
  it("ten minutes, approved or not → expired", async () => {
    const { running, call, start, approve, exchange, advance } = await scene(await newStore());
    const [waiting, approved] = [await start(), await start()];
    const code = await approve(approved);
    advance(9 * 60_000);
    const pending = { exchange_id: waiting, verifier: VERIFIER };
    expect((await call(null, "POST", "/v1/cli/login/poll", pending)).status).toBe(200);
    advance(60_000 + 1);
    const body = { exchange_id: waiting, decision: "approve" };
    expect((await call(running.key, "POST", "/v1/cli/login/decide", body)).status).toBe(422);
    const poll = { exchange_id: approved, verifier: VERIFIER };
    // Expired logins are deleted after a while; then the answer is the same as for unknown ones.
    for (const answer of [await exchange(approved, code), await call(null, "POST", "/v1/cli/login/poll", poll)]) {
      expect(answer.status).toBe(401);
    }
  });

  it("session → expires after thirty days", async () => {
    const { call, logIn, advance } = await scene(await newStore());
    const token = await logIn();
    expect((await call(token, "GET", "/v1/me/session")).status).toBe(200);
    advance(30 * 24 * 60 * 60_000 - 60_000);
    expect((await call(token, "GET", "/v1/me/session")).status).toBe(200);
    advance(60_000);
    await expectRefused(await call(token, "GET", "/v1/me/session"), "Session has expired");
  });

  it("session ended with a slow request → 200", async () => {
    const { call, logIn } = await scene(await newStore(), { pace: 100_000 });
    expect((await call(await logIn(), "DELETE", "/v1/cli/session")).status).toBe(200);
  });

  it("approving key revoked → its sessions, theirs in turn, and approved logins end", async () => {
    const { running, call, logIn, start, approve, exchange } = await scene(await newStore());
    const made = await call(running.key, "POST", "/v1/me/api-keys", { label: "k" });
    const { id, api_key: apiKey } = apiKeyCreatedSchema.parse(await made.json());
    const session = await logIn(apiKey);
    const grandchild = await logIn(session);
    const notExchanged = await start();
    const code = await approve(notExchanged, session);
    const unrelated = await logIn();
    await call(running.key, "DELETE", `/v1/me/api-keys/${id}`);
    await expectRefused(await call(session, "GET", "/v1/me/session"), "Session has ended");
    await expectRefused(await call(grandchild, "GET", "/v1/me/session"), "Session has ended");
    await expectRefused(await exchange(notExchanged, code), "Login was denied");
    expect((await call(unrelated, "GET", "/v1/me/session")).status).toBe(200);
  });

  it("session ends before the body of its approval arrives → not approved", async () => {
    const { running, call, start, logIn } = await scene(await newStore());
    const [token, exchangeId] = [await logIn(), await start()];
    const url = `${running.url}/v1/cli/login/decide`;
    const decision = await startSlowRequest(url, token, { exchange_id: exchangeId, decision: "approve" });
    expect((await call(token, "DELETE", "/v1/cli/session")).status).toBe(200);
    expect(await decision.finish()).toMatchObject({ status: 401 });
    const poll = await call(null, "POST", "/v1/cli/login/poll", { exchange_id: exchangeId, verifier: VERIFIER });
    expect(await poll.json()).toMatchObject({ status: "pending" });
  });

  it("poll and exchange concurrently → one gets the token", async () => {
    const { call, start, approve, exchange } = await scene(await newStore());
    for (let round = 0; round < 5; round += 1) {
      const exchangeId = await start();
      const code = await approve(exchangeId);
      const poll = { exchange_id: exchangeId, verifier: VERIFIER };
      const answers = await Promise.all([
        exchange(exchangeId, code),
        call(null, "POST", "/v1/cli/login/poll", poll),
        exchange(exchangeId, code),
        call(null, "POST", "/v1/cli/login/poll", poll),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
    }
  });

  it("no secret is in the log or the store", async () => {
    const store = await newStore();
    const { running, call, start, approve, exchange } = await scene(store);
    const exchangeId = await start();
    const code = await approve(exchangeId);
    const { token } = loginTokenSchema.parse(await (await exchange(exchangeId, code)).json());
    await call(token, "GET", "/v1/me/session");
    const kept = store.kind === "sqlite" ? await filesIn(running.dataDirectory) : "";
    for (const secret of [token, code, VERIFIER]) expect(running.log() + kept).not.toContain(secret);
  });
});
