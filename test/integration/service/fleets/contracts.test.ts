import type { KyselyPlugin } from "kysely";
import { expect, it } from "vitest";

import { listFleetFacts } from "../../../../src/service/fleets/queries.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { ALL_ROWS } from "../../../../src/service/kernel/lists/page-range.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { equipmentOf } from "../../../../src/service/robots/equipment.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { fleetRow, insertModel, robotRow } from "../../../support/service/rows.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

const newId = createIds(testMachine.clock, testMachine.random);
const NOW = "2026-06-01T12:00:00.000Z";
const [ROBOTS, FLEETS] = [40, 10];
const CONTRACT_BYTES = 100_000;
/** With a camera or without, as long as a contract may seriously be, and like no other in what it is judged by. */
const contractOf = (index: number, roles: readonly string[]) =>
  JSON.stringify({ cameras: [...roles, `${index}${"x".repeat(CONTRACT_BYTES)}`].map((role) => ({ role })) });

/** Tells the most that one query answered, in characters. */
function measure() {
  let most = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      most = Math.max(most, JSON.stringify(result.rows).length);
      return result;
    },
  };
  return { plugin, take: () => [most, (most = 0)][0] ?? 0 };
}

describeOnEachStore("fleets of robots that each have a large contract of their own", (newStore) => {
  it("a list holds a few contracts at a time, and reads none twice", async () => {
    await using store = await openStore(await newStore(), testMachine);
    const organizationId = newId("org");
    const robots = Array.from({ length: ROBOTS }, () => newId("rob"));
    await store.write(async (transaction) => {
      await transaction
        .insertInto("organizations")
        .values({ id: organizationId, name: "o", created_at: NOW })
        .execute();
      await insertModel(transaction, { slug: "m", id: "ckpt_m", requirements: { camera_roles: ["wrist"] } });
      for (const [index, id] of robots.entries()) {
        const contract = contractOf(index, index % 2 === 0 ? ["wrist"] : []);
        const judged = { contract, ...equipmentOf(contract) };
        await transaction
          .insertInto("robots")
          .values(robotRow({ id, organization_id: organizationId, name: `r${index}`, ...judged }))
          .execute();
      }
      for (let index = 0; index < FLEETS; index += 1) {
        const [id, generationId] = [newId("fleet"), newId("gen")];
        await transaction
          .insertInto("fleets")
          .values(fleetRow({ id, organization_id: organizationId, name: `f${index}`, generation_id: generationId }))
          .execute();
        await transaction
          .insertInto("generations")
          .values({ id: generationId, fleet_id: id, subject: "m", checkpoint_id: "ckpt_m", created_at: NOW })
          .execute();
        const members = robots.map((robotId) => ({ fleet_id: id, robot_id: robotId }));
        await transaction.insertInto("fleet_members").values(members).execute();
      }
    });
    const { plugin, take } = measure();
    const reader = store.reader.withPlugin(plugin);
    const able = async () =>
      (await listFleetFacts(reader, organizationId, ALL_ROWS)).map(({ members }) =>
        members.filter(({ obstacle }) => obstacle === null).reduce((sum, { count }) => sum + count, 0),
      );
    expect(await able()).toEqual(Array.from({ length: FLEETS }, () => ROBOTS / 2));
    expect(take()).toBeLessThan((ROBOTS / 2) * CONTRACT_BYTES);
    expect(await able()).toEqual(Array.from({ length: FLEETS }, () => ROBOTS / 2));
    expect(take()).toBeLessThan(CONTRACT_BYTES * 2);
    await store.write((transaction) =>
      transaction
        .updateTable("robots")
        .set(equipmentOf(contractOf(1, ["wrist"])))
        .where("id", "=", robots[1] ?? "")
        .execute(),
    );
    expect(await able()).toEqual(Array.from({ length: FLEETS }, () => ROBOTS / 2 + 1));
  });
});
