import { expect, it, onTestFinished } from "vitest";

import { apiKeyCreatedSchema } from "../../../../src/api/keys.ts";
import { refusalListSchema, REFUSALS_SHOWN, type RefusalView } from "../../../../src/api/refusals.ts";
import { BODY_BYTES } from "../../../../src/api/wire/body-bytes.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import type { Store } from "../../../../src/service/kernel/store/store.ts";
import {
  boundRefusals,
  listRefusals,
  noteRefusal,
  pruneRefusals,
  REFUSALS_OF_ROBOT_MAXIMUM,
} from "../../../../src/service/robots/refusals/queries.ts";
import { createRefusals, NOTED_MAXIMUM, type Refusal } from "../../../../src/service/robots/refusals/refusals.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { type RunningService, startService } from "../../../support/service/service.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const START_MS = Date.parse("2026-01-01T00:00:00.000Z");
const iso = (timeMs: number) => new Date(timeMs).toISOString();
/** Refusals are stored within seconds, by a clock that runs twenty times as fast; the machine may be busy. */
const SOON = { timeout: PATIENCE_MS, interval: 100 } as const;
const FAST_CLOCK: Clock = {
  ...systemClock,
  monotonicMs: () => 20 * systemClock.monotonicMs(),
  sleep: (durationMs, signal) => systemClock.sleep(durationMs / 20, signal),
};

const REFUSAL: Refusal = {
  organization_id: "org_1",
  robot: "cell-4",
  status: 422,
  actor: "key_1",
  address: "10.0.0.4",
  detail: "region: Field required",
  request_id: "r",
};

/** A collector on an empty store with two organizations; `tick` advances the clock to its next run. */
async function collector(newStore: NewStore) {
  const store = await openStore(await newStore(), testMachine);
  onTestFinished(() => store[Symbol.asyncDispose]());
  await store.write(async (transaction) => {
    for (const id of ["org_1", "org_2"]) {
      await transaction
        .insertInto("organizations")
        .values({ id, name: id, created_at: iso(START_MS) })
        .execute();
    }
  });
  let nowMs = START_MS;
  const clock: Clock = { ...systemClock, wallMs: () => nowMs, monotonicMs: () => nowMs };
  const newId = createIds(clock, testMachine.random);
  let commits = 0;
  const counted: Store = { ...store, write: (job) => ((commits += 1), store.write(job)) };
  const refusals = createRefusals({ store: counted, newId, machine: { ...testMachine, clock } });
  return {
    store,
    newId,
    note: (refusal: Partial<Refusal> = {}) => refusals.note({ ...REFUSAL, ...refusal }),
    run: () => refusals.task.run(new AbortController().signal),
    tick: () => (nowMs += refusals.task.intervalMs),
    commits: () => commits,
    list: (robot?: string) => listRefusals(store.reader, "org_1", robot),
  };
}

describeOnEachStore("refused registrations", (newStore) => {
  it("robot retries → one entry, few commits", async () => {
    const { note, run, tick, list, commits } = await collector(newStore);
    for (let round = 0; round < 3; round += 1) {
      for (let request = 0; request < 1000; request += 1) note({ detail: `round ${round}`, request_id: `r${request}` });
      await run();
      tick();
    }
    expect(commits()).toBe(3);
    const [entry, ...others] = await list();
    expect([entry, others]).toMatchObject([{ count: 3000, detail: "round 2", request_id: "r999" }, []]);
    expect(entry).toMatchObject({ first_at: iso(START_MS), last_at: iso(START_MS + 5000) });
  });

  it("different robot, status, credential or address → separate entries, newest first", async () => {
    const { note, run, tick, list } = await collector(newStore);
    const others = [{ robot: "cell-5" }, { status: 409 }, { actor: "key_2" }, { address: "10.0.0.5" }];
    for (const other of [{}, ...others]) {
      note(other);
      tick();
    }
    await run();
    expect((await list()).map(({ robot, status, actor, address }) => [robot, status, actor, address])).toEqual([
      ["cell-4", 422, "key_1", "10.0.0.5"],
      ["cell-4", 422, "key_2", "10.0.0.4"],
      ["cell-4", 409, "key_1", "10.0.0.4"],
      ["cell-5", 422, "key_1", "10.0.0.4"],
      ["cell-4", 422, "key_1", "10.0.0.4"],
    ]);
    expect(await list("cell-5")).toMatchObject([{ robot: "cell-5" }]);
  });

  it("keys and tokens → redacted; long names and reasons → cut", async () => {
    const { note, run, list } = await collector(newStore);
    const key = "sk_rps_0123456789abcdefghij";
    note({ robot: key, detail: `labels.${key}: ${"x".repeat(5000)}` });
    const tokens = ["session", "console", "code"].map((kind) => `rps_${kind}_0123456789abcdefghijklmnop`);
    for (const token of tokens) note({ robot: token, detail: `labels.${token}` });
    note({ robot: "y".repeat(100_000) });
    note({ robot: "\u0000", status: 400 });
    await run();
    const text = JSON.stringify(await list());
    for (const secret of [key, ...tokens]) expect(text).not.toContain(secret);
    expect(text.length).toBeLessThan(2000);
  });

  it("many of one organization → bounded, and those of others are kept", async () => {
    const { note, run, list, store } = await collector(newStore);
    for (let index = 0; index < 2 * NOTED_MAXIMUM.organization; index += 1) note({ robot: `r${index}` });
    note({ organization_id: "org_2" });
    await run();
    expect(await list()).toHaveLength(NOTED_MAXIMUM.organization);
    expect(await listRefusals(store.reader, "org_2", undefined)).toHaveLength(1);
  });

  it("stored refusals → bounded per robot and per organization, the newest are kept", async () => {
    const { store, newId, list } = await collector(newStore);
    const rowsOf = (robot: (index: number) => string, count: number) =>
      Array.from({ length: count }, (_, index) => {
        const at = iso(START_MS + index);
        const address = `10.0.${index >> 8}.${index & 255}`;
        return { ...REFUSAL, id: newId("ref"), robot: robot(index), address, first_at: at, last_at: at, count: 1 };
      });
    const fill = (rows: ReturnType<typeof rowsOf>) =>
      store.write(async (transaction) => {
        for (const row of rows) await noteRefusal(transaction, row);
        await boundRefusals(transaction, "org_1");
      });
    await fill(rowsOf(() => "cell-4", REFUSALS_OF_ROBOT_MAXIMUM + 20));
    expect(await list()).toHaveLength(REFUSALS_OF_ROBOT_MAXIMUM);
    expect((await list()).at(-1)?.last_at).toBe(iso(START_MS + 20));
    await fill(rowsOf((index) => `r${index}`, REFUSALS_SHOWN.maximum + 20));
    expect(await list()).toHaveLength(REFUSALS_SHOWN.maximum);
    await store.write((transaction) => pruneRefusals(transaction, iso(START_MS + 1000)));
    expect((await list()).map(({ last_at: lastAt }) => lastAt).toSorted()[0]).toBe(iso(START_MS + 1000));
  });
});

const SETUP = {
  name: "cell-4",
  robot_type_id: "so101_follower",
  region: "us-west-2",
  configuration_digest: `sha256:${"0".repeat(64)}`,
};

async function setup({ url }: RunningService, key: string, body: unknown): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await fetch(`${url}/v1/robots/setup`, { method: "POST", headers, body: JSON.stringify(body) });
  return answer.status;
}

async function refusalsOf(service: RunningService, query = ""): Promise<readonly RefusalView[]> {
  const answer = await service.send("GET", `/v1/me/refusals${query}`);
  return refusalListSchema.parse(await answer.json()).items;
}

describeOnEachStore("GET /v1/me/refusals", (newStore) => {
  it("each kind of refusal → the robot, if known, and the reason", async () => {
    await using service = await startService({
      store: await newStore(),
      clock: FAST_CLOCK,
      configuration: {
        rateLimit: { credential: { per_second: 0.001, burst: 80 }, address: { per_second: 100, burst: 1000 } },
      },
    });
    const create = async (label: string, scopes: readonly string[]) =>
      apiKeyCreatedSchema.parse(await (await service.send("POST", "/v1/me/api-keys", { label, scopes })).json());
    const [robot, viewer, busy] = [
      await create("cell 4", ["robots:setup"]),
      await create("viewer", ["robots:read"]),
      await create("busy", ["robots:setup"]),
    ];
    expect(await setup(service, robot.api_key, SETUP)).toBe(200);
    expect(await setup(service, robot.api_key, { ...SETUP, site: 7, labels: 8, contract: 9, region: undefined })).toBe(
      422,
    );
    expect(await setup(service, robot.api_key, { ...SETUP, labels: { x: "x".repeat(BODY_BYTES.registration) } })).toBe(
      413,
    );
    expect(await setup(service, viewer.api_key, SETUP)).toBe(403);
    expect((await service.send("DELETE", `/v1/me/api-keys/${robot.id}`)).status).toBe(200);
    expect(await setup(service, robot.api_key, SETUP)).toBe(401);
    expect(await setup(service, "sk_rps_of_nobody", SETUP)).toBe(401);
    let status = 200;
    while (status === 200) status = await setup(service, busy.api_key, { ...SETUP, name: "busy" });
    expect(status).toBe(429);
    const list = () => refusalsOf(service);
    await expect.poll(async () => (await list()).length, SOON).toBe(5);
    const address = "127.0.0.1";
    const cell4 = { actor: { id: robot.id, label: "cell 4" }, address, count: 1 };
    expect((await list()).toSorted((left, right) => left.status - right.status)).toMatchObject([
      { ...cell4, robot: null, status: 401, detail: "API key has been revoked" },
      { actor: { label: "viewer" }, robot: null, status: 403, detail: "The API key lacks the scope robots:setup" },
      { ...cell4, robot: null, status: 413, detail: `The body is larger than ${BODY_BYTES.registration} bytes` },
      {
        ...cell4,
        robot: "cell-4",
        status: 422,
        detail: expect.stringMatching(/^region: Field required; site: Input [^;]+; labels: Input [^;]+; and 1 more$/),
      },
      { actor: { label: "busy" }, robot: null, status: 429, detail: expect.stringContaining("Too many requests") },
    ]);
    const ofRobot = (await refusalsOf(service, "?robot=cell-4")).map((refusal) => refusal.status);
    expect(ofRobot.toSorted()).toEqual([401, 413, 422]);
    expect(await refusalsOf(service, "?robot=nobody")).toEqual([]);
  });
});
