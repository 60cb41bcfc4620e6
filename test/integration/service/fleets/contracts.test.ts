import type { KyselyPlugin } from "kysely";
import { expect, it } from "vitest";

import { listFleetFacts } from "../../../../src/service/fleets/queries.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { ALL_ROWS } from "../../../../src/service/kernel/lists/pages.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { equipmentOf } from "../../../../src/service/robots/equipment.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { fleetRow, insertModel, robotRow } from "../../../support/service/rows.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

const newId = createIds(testMachine.clock, testMachine.random);
const NOW = "2026-06-01T12:00:00.000Z";
const [ROBOTS, FLEETS] = [40, 10];
const CONTRACT_BYTES = 100_000;
/** A contract of a realistic maximum size, different from all others in what models are matched against. */
const contractOf = (index: number, roles: readonly string[]) =>
  JSON.stringify({ cameras: [...roles, `${index}${"x".repeat(CONTRACT_BYTES)}`].map((role) => ({ role })) });

/** Measures the largest result of one query, in characters. */
function measure() {
  let maximum = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      maximum = Math.max(maximum, JSON.stringify(result.rows).length);
      return result;
    },
  };
  return { plugin, take: () => [maximum, (maximum = 0)][0] ?? 0 };
}

describeOnEachStore("fleets of robots with large, different contracts", (newStore) => {
  it("listing fleets → few contracts in memory at a time, and each is read once", async () => {
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
