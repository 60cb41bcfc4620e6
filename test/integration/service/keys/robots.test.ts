/** How many robots a key can add, should it leak. */
import { expect, it } from "vitest";

import { apiKeyCreatedSchema } from "../../../../src/api/keys.ts";
import { SERVICE_LIMITS } from "../../../../src/service/limits.ts";
import type { ServiceOptions } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

const KEYS = "/v1/me/api-keys";
const SCOPES = ["robots:setup"];

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

describeOnEachStore("robots of a key", (newStore) => {
  it("more than the limits → 409", async () => {
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
});

it("the default limits let a site of 10,000 robots register with one key", () => {
  expect(SERVICE_LIMITS.robots.key).toBeGreaterThanOrEqual(10_000);
});
