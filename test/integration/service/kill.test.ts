/** @module-tag needs/program */
import { join } from "node:path";

import { expect, it } from "vitest";

import { testFolder } from "../../support/folder.ts";
import { times } from "../../support/run/tier.ts";
import { storeFlags } from "../../support/service/service-command.ts";
import { startService } from "../../support/service/service.ts";
import { describeOnEachStore } from "../../support/service/stores.ts";
import { acknowledges, lostBy, startStorm } from "../../support/service/storm.ts";
import { startServe } from "./service-process.ts";

const ROUNDS = times(1, 4);

describeOnEachStore("service killed with SIGKILL during a storm of setups", (newStore) => {
  it("restart → every acknowledged robot is stored, and no name twice", async () => {
    const folder = testFolder("kill");
    const store = await newStore();
    const keyFile = join(folder, "bootstrap-key");
    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const service = await startServe(keyFile, ...storeFlags(store), "--no-rate-limit");
      const storm = startStorm(service, 16, `round${round}-`);
      await acknowledges(storm, 100);
      await service.kill();
      await storm.stop();
      acknowledged.push(...storm.acknowledged);
    }
    await using service = await startService({ store, dataDirectory: folder });
    const robots = await service.robots();
    expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS * 100);
    expect(lostBy({ acknowledged }, robots)).toEqual([]);
    expect(new Set(robots.map(({ name }) => name)).size).toBe(robots.length);
  });
});
