/** Limits of a robot's key, should it leak: which robots it can set up, and how many it can add. */
import { expect, it } from "vitest";
import * as z from "zod";

import { apiKeyCreatedSchema, apiKeyListSchema } from "../../../../src/api/keys.ts";
import { validationErrorBodySchema } from "../../../../src/api/wire/errors.ts";
import { SERVICE_LIMITS } from "../../../../src/service/limits.ts";
import { runServiceCommand, storeFlags } from "../../../support/service/service-command.ts";
import type { ServiceOptions } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const KEYS = "/v1/me/api-keys";
const SCOPES = ["robots:setup"];
const detailOf = async (answer: Response) => z.object({ detail: z.string() }).parse(await answer.json()).detail;

async function service(options: ServiceOptions) {
  const running = await testService(options);
  const create = async (body: object) =>
    apiKeyCreatedSchema.parse(
      await (await running.send("POST", KEYS, { label: "robot", scopes: SCOPES, ...body })).json(),
    );
  const setUp = (key: string, name: string, digest = "0") =>
    fetch(`${running.url}/v1/robots/setup`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        name,
        robot_type_id: "arm",
        region: "eu-1",
        configuration_digest: `sha256:${digest.repeat(64)}`,
      }),
    });
  const names = async () => (await running.robots()).map(({ name }) => name);
  return { running, create, setUp, names };
}

describeOnEachStore("key bound to robots", (newStore) => {
  it("by names → sets up these repeatedly, and no others", async () => {
    const { running, create, setUp, names } = await service({ store: await newStore() });
    const { api_key: apiKey, id, ...made } = await create({ robots: ["cell-4", "cell-5", "cell-4"] });
    expect(made).toMatchObject({ robots: ["cell-4", "cell-5"], max_robots: null });
    expect((await setUp(apiKey, "cell-4")).status).toBe(200);
    expect((await setUp(apiKey, "cell-4", "1")).status).toBe(200);
    await setUp(running.key, "cell-6");
    for (const name of ["cell-6", "Cell-4", "cell-7"]) {
      const refused = await setUp(apiKey, name, "2");
      expect([refused.status, await detailOf(refused)]).toEqual([403, "The API key is bound to robots of other names"]);
    }
    expect(await names()).toEqual(["cell-4", "cell-6"]);
    const { items } = apiKeyListSchema.parse(await (await running.send("GET", KEYS)).json());
    expect(items.find((key) => key.id === id)).toMatchObject({ robots: ["cell-4", "cell-5"] });
  });

  it("by number → adds that many, also with concurrent requests, and sets up existing robots", async () => {
    const { running, create, setUp, names } = await service({ store: await newStore() });
    const { api_key: apiKey } = await create({ max_robots: 3 });
    await setUp(running.key, "old");
    const answers = await Promise.all(["a", "b", "c", "d", "e", "f"].map((name) => setUp(apiKey, name)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 409, 409, 409]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused && (await detailOf(refused))).toBe("The API key has added 3 robots, as many as it may");
    for (const name of await names()) expect((await setUp(apiKey, name, "1")).status).toBe(200);
    expect(await names()).toHaveLength(4);
    const other = await create({ max_robots: 1 });
    expect((await setUp(other.api_key, "g")).status).toBe(200);
  });

  it("other scopes, or no robots → 422; signing in to the console → 403", async () => {
    const configuration = { consoleFolder: "/nowhere" };
    const { running, create } = await service({ store: await newStore(), configuration });
    const refusals = [
      { robots: ["a"] },
      { robots: ["a"], scopes: ["robots:read"] },
      { max_robots: 2, scopes: ["robots:setup", "api-keys:write"] },
      { robots: [], scopes: SCOPES },
      { max_robots: 0, scopes: SCOPES },
    ].map((body) => running.send("POST", KEYS, { label: "l", ...body }));
    const locs = await Promise.all(
      refusals.map(async (answer) => validationErrorBodySchema.parse(await (await answer).json()).detail[0]?.loc),
    );
    expect(locs.map((loc) => loc?.join("."))).toEqual([
      "body.robots",
      "body.robots",
      "body.max_robots",
      "body.robots",
      "body.max_robots",
    ]);
    const { api_key: apiKey } = await create({ max_robots: 2 });
    const signIn = await fetch(`${running.url}/console/session`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-robot-policy-console": "1" },
      body: JSON.stringify({ api_key: apiKey }),
    });
    expect(signIn.status).toBe(403);
  });

  it("not bound → limits of the service apply", async () => {
    const store = await newStore();
    const robots = { key: 3, organization: 5 };
    const { create, setUp, names } = await service({ store, limits: { robots } });
    const [first, second] = [await create({ label: "first" }), await create({ label: "second" })];
    const statuses = async (key: string, robotNames: readonly string[]) => {
      const answers = [];
      for (const name of robotNames) answers.push((await setUp(key, name)).status);
      return answers;
    };
    expect(await statuses(first.api_key, ["a", "b", "c", "d", "a"])).toEqual([200, 200, 200, 409, 200]);
    expect(await statuses(second.api_key, ["d", "e", "f", "a"])).toEqual([200, 200, 409, 200]);
    expect(await names()).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("command keys create → binds keys as well", async () => {
    const store = await newStore();
    const { setUp } = await service({ store });
    const where = storeFlags(store);
    const create = (...flags: readonly string[]) =>
      runServiceCommand("keys", "create", ...where, "--label", "l", ...flags);
    const scope = ["--scope", "robots:setup"];
    const made = await create(...scope, "--robot", "cell-4", "--robot", "cell-5", "--max-robots", "2");
    expect(made).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("may use robots:setup for cell-4, cell-5 (2 new at most) until it is revoked."),
    });
    expect((await setUp(made.stdout.trim(), "cell-4")).status).toBe(200);
    expect((await setUp(made.stdout.trim(), "cell-6")).status).toBe(403);
    const refused = [
      await create("--robot", "cell-4"),
      await create("--scope", "robots:read", "--robot", "cell-4"),
      await create(...scope, "--max-robots", "many"),
      await create(...scope, "--max-robots", ""),
      await create(...scope, "--robot", ""),
    ];
    expect(refused.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2]);
    expect(refused[0]?.stderr).toContain("only a key whose scopes have robots:setup can be bound to robots");
  });
});

it("the default limits let a site of 10,000 robots register with one key", () => {
  expect(SERVICE_LIMITS.robots.key).toBeGreaterThanOrEqual(10_000);
});
