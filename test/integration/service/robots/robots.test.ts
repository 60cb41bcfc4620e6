import { readFile } from "node:fs/promises";

import * as fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";

import type { RobotContract } from "../../../../src/api/contract.ts";
import {
  type IdentifiedRobotView,
  identifiedRobotViewSchema,
  identifiedSetupAnswerSchema,
} from "../../../../src/api/robot-views.ts";
import type { RobotSetup } from "../../../../src/api/robots.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { PART_CHARACTERS } from "../../../../src/service/kernel/lists/answer-list.ts";
import type { StoreLocation } from "../../../../src/service/kernel/store/store.ts";
import { SERVICE_LIMITS } from "../../../../src/service/limits.ts";
import { readRobotHistory } from "../../../../src/service/robots/differences.ts";
import { IDENTITY_SETTINGS } from "../../../../src/service/identity/index.ts";
import { RobotQuota } from "../../../../src/service/robots/quota.ts";
import { setupRobot } from "../../../../src/service/robots/setup.ts";
import { registrationOf, upsertRobot } from "../../../../src/service/robots/robots.ts";
import { anyCharacter } from "../../../support/any-character.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { eventually } from "../../../support/robot/robot.ts";
import { times } from "../../../support/run/tier.ts";
import { type Backstage, openBackstage } from "../../../support/service/organizations.ts";
import { PRINCIPAL } from "../../../support/service/service-parts.ts";
import type { RunningService } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const newId = createIds(systemClock, systemRandom);

function setupOf(name: string, rest: Partial<RobotSetup> = {}): RobotSetup {
  return { name, robot_type_id: "so101", region: "us-west-2", configuration_digest: DIGEST, ...rest };
}

/** Members of robots that never enrolled, beyond those of the service document. */
const NEVER_ENROLLED = {
  status: "offline",
  installation_id: null,
  last_seen_at: null,
  location: null,
  site_inference: null,
  presence: "not_monitored",
  not_ready_reason: null,
};

/** The identity of a new robot that is registered with a key. */
const identityAt = (now: string) => ({
  id: newId("rob"),
  now,
  auditId: newId("aud"),
  madeBy: "key_1",
  installationId: null,
});

describeOnEachStore("robots", (newStore) => {
  async function service(): Promise<RunningService & { readonly location: StoreLocation }> {
    const location = await newStore();
    return { ...(await testService({ store: location })), location };
  }

  async function backstage(location: StoreLocation): Promise<Backstage> {
    const opened = await openBackstage(location);
    onTestFinished(() => opened[Symbol.asyncDispose]());
    return opened;
  }

  async function register({ send }: RunningService, setup: RobotSetup): Promise<IdentifiedRobotView> {
    const answer = await send("POST", "/v1/robots/setup", setup);
    expect(answer.status).toBe(200);
    return identifiedSetupAnswerSchema.parse(await answer.json()).robot;
  }

  /** Adds robots to the store as setups do, without a request for each. */
  async function fill(
    { location }: { readonly location: StoreLocation },
    names: readonly string[],
    rest: Partial<RobotSetup> = {},
  ): Promise<void> {
    const { store } = await backstage(location);
    const { id: organizationId } = await store.reader
      .selectFrom("organizations")
      .select("id")
      .executeTakeFirstOrThrow();
    const [first = "", ...others] = names;
    const now = new Date().toISOString();
    const identity = identityAt(now);
    const registration = registrationOf(setupOf(first, rest));
    await store.write((transaction) => upsertRobot(transaction, organizationId, registration, identity));
    const added = store.reader.selectFrom("robots").selectAll().where("id", "=", identity.id);
    const row = await added.executeTakeFirstOrThrow();
    const like = (name: string) => ({ ...row, id: newId("rob"), name, audit_id: newId("aud") });
    for (let start = 0; start < others.length; start += 500) {
      const rows = others.slice(start, start + 500).map(like);
      await store.write((transaction) => transaction.insertInto("robots").values(rows).execute());
    }
  }

  it("invalid contract of a known schema → 422, not registered", async () => {
    const running = await service();
    const example = new URL("../../../golden/robot-manifest/examples/so101.contract.json", import.meta.url);
    const contract: RobotContract = JSON.parse(await readFile(example, "utf8"));
    const { robot_type_id: robotTypeId } = contract;
    const cameras = contract.cameras.map((camera) => Object.assign({}, camera, { fps: 0 }));
    const wrong = setupOf("arm", { robot_type_id: robotTypeId, contract: { ...contract, cameras } });
    const refused = await running.send("POST", "/v1/robots/setup", wrong);
    expect(refused.status).toBe(422);
    const fault = { type: "greater_than", msg: "Input should be greater than 0", input: 0, ctx: { gt: 0 } };
    expect(await refused.json()).toEqual({
      detail: [
        { ...fault, loc: ["body", "contract", "cameras", 0, "fps"] },
        { ...fault, loc: ["body", "contract", "cameras", 1, "fps"] },
      ],
    });
    expect(await running.robots()).toEqual([]);
    await register(running, setupOf("arm", { robot_type_id: robotTypeId, contract: { ...contract } }));
    const { store } = await backstage(running.location);
    const [stored] = await store.reader.selectFrom("robots").select("contract").execute();
    expect(JSON.parse(stored?.contract ?? "")).toEqual(contract);
  });

  it("full organization → new names are refused, existing robots are accepted", async () => {
    const { store, organizations } = await backstage(await newStore());
    await organizations(2);
    const rows = await store.reader.selectFrom("organizations").select("id").orderBy("id").execute();
    const [full = "", other = ""] = rows.map(({ id }) => id);
    // Two replicas, each with its own counters.
    const context = {
      store,
      newId,
      machine: testMachine,
      nudge() {},
      liveness: { seen: () => undefined },
      identity: IDENTITY_SETTINGS,
    };
    const robots = { ...SERVICE_LIMITS.robots, organization: 3 };
    const [first, second] = [1, 2].map(() =>
      setupRobot(context, new RobotQuota(store.reader, robots, testMachine.clock)),
    );
    const status = async (handler: typeof first, organizationId: string, name: string) => {
      const principal = { ...PRINCIPAL, organizationId };
      const write: typeof store.write = (job) => store.write(job);
      const call = { principal: { ...principal, scopes: null, expiresAt: null }, path: {}, query: null, url: "/" };
      const answer = await handler?.({
        ...call,
        write,
        body: setupOf(name),
        requestId: "r",
        address: "10.0.0.4",
      });
      return answer !== undefined && "json" in answer ? [answer.status, answer.json] : [];
    };
    for (const name of ["a", "b"]) expect(await status(first, full, name)).toMatchObject([200, expect.anything()]);
    expect(await status(second, full, "c")).toMatchObject([200, expect.anything()]);
    const refusal = expect.stringContaining('"An organization has 3 robots at most"');
    for (const replica of [first, second]) expect(await status(replica, full, "d")).toEqual([409, refusal]);
    for (const replica of [first, second])
      expect(await status(replica, full, "a")).toMatchObject([200, expect.anything()]);
    expect(await status(first, other, "d")).toMatchObject([200, expect.anything()]);
    const names = await store.reader.selectFrom("robots").select("name").where("organization_id", "=", full).execute();
    expect(names.map(({ name }) => name).toSorted()).toEqual(["a", "b", "c"]);
  });

  it("history → as far back as the audit log, and only for its organization", async () => {
    const running = await service();
    const { id } = await register(running, setupOf("arm"));
    await register(running, setupOf("other"));
    await register(running, setupOf("arm", { site: "lab" }));
    await register(running, setupOf("arm", { region: "eu" }));
    const { store } = await backstage(running.location);
    const { id: organizationId } = await store.reader
      .selectFrom("organizations")
      .select("id")
      .executeTakeFirstOrThrow();
    const changes = async (organization: string) =>
      (await readRobotHistory(store.reader, organization, id)).map(({ changed }) => changed);
    expect(await changes(organizationId)).toEqual([["region", "site"], ["site"], null]);
    expect(await changes("org_other")).toEqual([]);
    const setups = store.reader.selectFrom("audit_log").where("subject_id", "=", id);
    const { oldest } = await setups.select(({ fn }) => fn.min("id").as("oldest")).executeTakeFirstOrThrow();
    await store.write((transaction) => transaction.deleteFrom("audit_log").where("id", "<=", oldest).execute());
    expect(await changes(organizationId)).toEqual([["region", "site"], null]);
  });

  it("scenario 9: 200 concurrent setups of seven names, at two replicas → seven robots", async () => {
    const store = await newStore();
    const one = await testService({ store });
    // Only one service can use a data directory: on SQLite it stands for both.
    const other = store.kind === "sqlite" ? one : await testService({ store, dataDirectory: one.dataDirectory });
    const setups = Array.from({ length: 200 }, (_, index) => ({
      running: index % 2 === 0 ? one : other,
      setup: setupOf(`arm-${index % 7}`),
    }));
    // Like agents, send again if the database takes too long.
    const persist = async ({ running, setup }: (typeof setups)[number]) => {
      const answer = await eventually(async () => {
        const sent = await running.send("POST", "/v1/robots/setup", setup);
        return sent.status === 503 ? undefined : sent;
      }, "a registration");
      return identifiedSetupAnswerSchema.parse(await answer.json()).robot;
    };
    const views = await Promise.all(setups.map(persist));
    const ids = new Map(views.map(({ name, id }) => [name, id]));
    for (const { name, id } of views) expect(ids.get(name)).toBe(id);
    for (const running of [one, other]) {
      expect((await running.robots()).map(({ id }) => id).toSorted()).toEqual([...ids.values()].toSorted());
    }
  });

  it("any text → shown unchanged, in the bytes of JSON.stringify", async () => {
    const running = await service();
    const unit = fc.oneof(fc.constantFrom(..."\"\\/\b\f\n\r\t'<&%\u007f\u2028\u{10FFFF}"), anyCharacter);
    const text = (maxLength: number) =>
      fc.string({ unit, maxLength, minLength: 1 }).filter((value) => value.isWellFormed() && !value.includes("\0"));
    const setups = fc.record({
      name: text(30),
      robot_type_id: text(10),
      region: text(10),
      configuration_digest: fc.constant(DIGEST),
      site: fc.option(text(10)),
      labels: fc.dictionary(text(10), text(10), { maxKeys: 5, noNullPrototype: true }),
    });
    const expected = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(setups, async (setup) => {
        const { id, name, created_at: createdAt } = await register(running, setup);
        const { robot_type_id: robotTypeId, region, site, labels } = setup;
        expect(name).toBe(setup.name);
        expected.set(
          id,
          JSON.stringify({
            id,
            name,
            robot_type_id: robotTypeId,
            region,
            created_at: createdAt,
            site,
            labels,
            ...NEVER_ENROLLED,
          }),
        );
      }),
      { numRuns: times(30, 300) },
    );
    const list = await (await running.send("GET", "/v1/robots")).text();
    const views = [...expected].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, view]) => view);
    expect(list).toBe(`[${views.join(",")}]`);
  });

  it("setup acknowledged → every replica lists it at once", async () => {
    const store = await newStore();
    const one = await testService({ store });
    const other = store.kind === "sqlite" ? one : await testService({ store, dataDirectory: one.dataDirectory });
    for (let index = 0; index < times(15, 50); index += 1) {
      const [writer, reader] = index % 2 === 0 ? [one, other] : [other, one];
      const robot = await register(writer, setupOf(`arm-${index % 5}`, { site: `lab ${index}` }));
      for (const running of [reader, writer]) expect(await running.robots()).toContainEqual(robot);
    }
    // With concurrent writes: a list contains every setup that was acknowledged before its request.
    const storm = Array.from({ length: 8 }, async (_, client) => {
      for (let index = 0; index < times(5, 20); index += 1) {
        const [writer, reader] = (client + index) % 2 === 0 ? [one, other] : [other, one];
        const robot = await register(writer, setupOf(`storm-${client}`, { site: `lab ${index}` }));
        expect(await reader.robots()).toContainEqual(robot);
      }
    });
    await Promise.all(storm);
  });

  it("large robots → shorter pages and parts, none missing", async () => {
    const running = await service();
    const labels = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`k${index}`, "é".repeat(1000)]));
    const names = Array.from({ length: 90 }, (_, index) => `arm-${index}`);
    await fill(running, names, { labels });
    expect((await running.robots()).map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    const seen: string[] = [];
    let pages = 0;
    for (let path: string | null = "/v1/robots?limit=1000"; path !== null; pages += 1) {
      const answer: Response = await running.send("GET", path);
      const text = await answer.text();
      expect(text.length).toBeLessThan(PART_CHARACTERS * 1.1);
      seen.push(
        ...identifiedRobotViewSchema
          .array()
          .parse(JSON.parse(text))
          .map(({ name }) => name),
      );
      path = /^<(.*)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1] ?? null;
    }
    expect(pages).toBe(2);
    expect(seen.toSorted()).toEqual(names.toSorted());
  });

  it("more concurrent bodies than the limit → some get 503 with Retry-After, and succeed later", async () => {
    const running = await testService({
      store: await newStore(),
      limits: { inFlightBytes: { ...SERVICE_LIMITS.inFlightBytes, all: 1 } },
    });
    const names = Array.from({ length: 50 }, (_, index) => `arm-${index}`);
    const setup = (name: string) => running.send("POST", "/v1/robots/setup", setupOf(name));
    // Whether two of them overlap is chance, so this repeats until they do.
    const refused = await eventually(async () => {
      const answers = await Promise.all(names.map(setup));
      expect(answers.some(({ status }) => status === 200)).toBe(true);
      return answers.find(({ status }) => status !== 200);
    }, "a refusal");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    for (const name of names) expect((await setup(name)).status).toBe(200);
  });
});
