import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";
import { expect, it } from "vitest";

import { testFolder } from "../../support/folder.ts";
import { endWithTest } from "../../support/programs/children.ts";
import { SERVICE_PROGRAM } from "../../support/programs/programs-built.ts";
import { times } from "../../support/run/tier.ts";
import { startService } from "../../support/service/service.ts";
import { describeOnEachStore } from "../../support/service/stores.ts";
import { acknowledges, lostBy, startStorm } from "../../support/service/storm.ts";

const ROUNDS = times(1, 4);
const listeningSchema = z.object({ event: z.literal("listening"), url: z.string() });

describeOnEachStore("a service killed in a storm of setups, again and again", (newStore) => {
  it("has every robot it acknowledged, and none twice", async () => {
    const folder = testFolder("kill");
    const store = await newStore();
    const place = store.kind === "sqlite" ? ["--data", store.dataDirectory] : ["--database", store.url];
    const keyFile = join(folder, "bootstrap-key");
    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const words = ["--listen", "127.0.0.1:0", "--no-rate-limit", "--bootstrap-key-file", keyFile];
      const child = spawn(process.execPath, [SERVICE_PROGRAM, "serve", ...place, ...words], {
        stdio: ["ignore", "pipe", "ignore"],
      });
      endWithTest(child);
      const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
      const { url } = listeningSchema.parse(JSON.parse(line));
      const storm = startStorm({ url, key: (await readFile(keyFile, "utf8")).trim() }, 16, `round${round}-`);
      await acknowledges(storm, 100);
      child.kill("SIGKILL");
      await once(child, "close");
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
