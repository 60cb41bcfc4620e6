import { expect, it } from "vitest";

import { registrationViewSchema } from "../../../../src/api/registrations.ts";
import { createRefusals, NOTED_MAXIMUM } from "../../../../src/service/robots/refusals.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { openServiceParts, type ServiceParts } from "../../../support/service/service-parts.ts";
import { startService } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

const SETUP = {
  name: "cell-4",
  robot_type_id: "so101_follower",
  region: "us-west-2",
  configuration_digest: `sha256:${"0".repeat(64)}`,
};

function refusedAt(at: string, name = "r1", organizationId = "org_1") {
  const refusal = { at, status: 422, detail: "region: Field required", actor: "key_1", address: "", request_id: "r" };
  return { organizationId, name, refusal };
}

async function refusedRobots({ store }: ServiceParts): Promise<readonly string[]> {
  const robots = store.reader.selectFrom("robots").select("name").where("last_refusal", "is not", null).orderBy("name");
  return (await robots.execute()).map(({ name }) => name);
}

describeOnEachStore("the last refusal of a robot", (newStore) => {
  it("stands on the robot that was refused, until it registers", async () => {
    await using parts = await openServiceParts(await newStore());
    const refusals = createRefusals(parts.store);
    for (const name of ["r1", "r2"]) await parts.register(name);
    refusals.note(refusedAt(parts.at(-1), "r2"));
    for (const at of [parts.at(1), parts.at(2)]) refusals.note(refusedAt(at));
    refusals.note(refusedAt(parts.at(1), "r2", "org_2"));
    refusals.note(refusedAt(parts.at(1), "nobody"));
    await refusals.flush();
    expect(await refusedRobots(parts)).toEqual(["r1"]);
    await parts.register("r1");
    expect(await refusedRobots(parts)).toEqual([]);
  });

  it("more names than are noted at once → bounded", async () => {
    await using parts = await openServiceParts(await newStore());
    const refusals = createRefusals(parts.store);
    await parts.register("r1");
    for (let index = 0; index < NOTED_MAXIMUM; index += 1) refusals.note(refusedAt(parts.at(1), `other ${index}`));
    refusals.note(refusedAt(parts.at(1)));
    await refusals.flush();
    expect(await refusedRobots(parts)).toEqual([]);
  });

  it("is shown with the reason, and without secrets", async () => {
    await using service = await startService({ store: await newStore() });
    const key = "sk_rps_0123456789abcdefghij";
    expect((await service.send("POST", "/v1/robots/setup", SETUP)).status).toBe(200);
    const wrong = { ...SETUP, region: undefined, site: 7, labels: { [key]: 8 }, contract: 9 };
    expect((await service.send("POST", "/v1/robots/setup", wrong)).status).toBe(422);
    const shown = async () => {
      const answer = await service.send("GET", "/v1/robots/cell-4/registration");
      return registrationViewSchema.parse(await answer.json()).last_refusal;
    };
    await expect.poll(shown, { timeout: PATIENCE_MS, interval: 100 }).toMatchObject({
      status: 422,
      detail: expect.stringMatching(/^region: Field required; site: .*; labels\.\S+: .*; and 1 more$/),
      actor: { label: "bootstrap" },
      address: "127.0.0.1",
    });
    expect(JSON.stringify(await shown())).not.toContain(key);
    expect((await service.send("POST", "/v1/robots/setup", SETUP)).status).toBe(200);
    expect(await shown()).toBeNull();
  });
});
