import { expect, it } from "vitest";
import * as z from "zod";

import { systemClock } from "../../../../src/platform/clock.ts";
import { HTTP_LIMITS } from "../../../../src/service/kernel/traffic/limits.ts";
import { testFolder } from "../../../support/folder.ts";
import { runServiceCommand, storeFlags } from "../../../support/service/service-command.ts";
import { startService } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

/**
 * With the clock of these tests, each measurement takes at least a millisecond: of a body, of its transaction, or of the rows of a list.
 */
const BUDGET_MS = 40;
const EACH_MS = 1;
const DIGEST = `sha256:${"0".repeat(64)}`;

describeOnEachStore("work budget of an organization", (newStore) => {
  it.each([
    ["registrations", "POST", "/v1/robots/setup"],
    ["lists", "GET", "/v1/robots?limit=10"],
  ])("%s over the budget, another organization works → 429, shown by status", async (_what, method, path) => {
    const folder = testFolder("work");
    const store = await newStore();
    let ticks = 0;
    await using service = await startService({
      store,
      dataDirectory: folder,
      limits: { ...HTTP_LIMITS, workMs: { per_second: 0.1, burst: BUDGET_MS } },
      clock: { ...systemClock, monotonicMs: () => (ticks += 1) },
    });
    const other = await createOrganization(store, "other");
    for (const name of ["r0", "r1"]) await service.send("POST", "/v1/robots/setup", setupOf(name));
    const ask = (name: string) => service.send(method, path, method === "POST" ? setupOf(name) : undefined);
    // Without others, an organization may use all of the time.
    for (let index = 0; index < BUDGET_MS / EACH_MS; index += 1) {
      expect((await ask(`r${index}`)).status).toBe(200);
    }
    const asOther = () =>
      fetch(`${service.url}/v1/robots/setup`, {
        method: "POST",
        headers: { authorization: `Bearer ${other}`, "content-type": "application/json" },
        body: JSON.stringify(setupOf("r")),
      });
    expect((await asOther()).status).toBe(200);
    const refused = await ask("late");
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    expect(await refused.json()).toMatchObject({ code: "RateLimited" });
    expect((await asOther()).status).toBe(200);

    await service[Symbol.asyncDispose]();
    const status = await runServiceCommand("status", ...storeFlags(store));
    expect(status.stdout).toMatch(/\nlimits\.work_ms +org_\w+ +default +1 +/);
  });
});

const setupOf = (name: string) => ({ name, robot_type_id: "so101", region: "us-west-2", configuration_digest: DIGEST });

/** @returns a key of the new organization. */
async function createOrganization(store: Parameters<typeof storeFlags>[0], name: string): Promise<string> {
  await runServiceCommand("orgs", "create", name, ...storeFlags(store));
  const flags = ["--label", "key", "--org", name, "--json"];
  const { stdout } = await runServiceCommand("keys", "create", ...flags, ...storeFlags(store));
  return z.object({ api_key: z.string() }).parse(JSON.parse(stdout)).api_key;
}
