import { expect, it, onTestFinished } from "vitest";

import { systemClock } from "../../../../src/platform/clock.ts";
import { listLimitsMet } from "../../../../src/service/kernel/store/limits-met.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { createLimitsMet, NOTED_MAXIMUM, WRITTEN_MAXIMUM } from "../../../../src/service/kernel/traffic/limits-met.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { runServiceCommand, storeFlags } from "../../../support/service/service-command.ts";
import { startService } from "../../../support/service/service.ts";
import { describeOnEachStore, type NewStore } from "../../../support/service/stores.ts";

const START_MS = Date.parse("2026-01-01T00:00:00.000Z");
const DAY_MS = 24 * 3_600_000;
const NOBODY = { organizationId: null };

/** Records limits in an empty store, with a clock that the test sets. */
async function recorder(newStore: NewStore) {
  const store = await openStore(await newStore(), testMachine);
  onTestFinished(() => store[Symbol.asyncDispose]());
  let nowMs = START_MS;
  let metered = 0;
  const clock = { ...testMachine.clock, wallMs: () => nowMs };
  const metrics = { limitMet: () => void (metered += 1) };
  const limitsMet = createLimitsMet({ store, machine: { ...testMachine, clock }, metrics });
  return {
    limitsMet,
    metered: () => metered,
    pass: (durationMs: number) => (nowMs += durationMs),
    list: async () =>
      (await listLimitsMet(store.reader, nowMs, 1000)).map(({ limit_name: limitName, party, count }) => [
        limitName,
        party,
        count,
      ]),
  };
}

describeOnEachStore("limits_met", (newStore) => {
  it("several writes → counted by limit and party, forgotten after a week", async () => {
    const { limitsMet, pass, list } = await recorder(newStore);
    limitsMet.note("rate_limit.address", { ...NOBODY, party: "192.0.2.1" });
    limitsMet.note("rate_limit.address", { ...NOBODY, party: "192.0.2.1" });
    limitsMet.note("limits.streams", { organizationId: "org_1", party: "192.0.2.1" });
    await limitsMet.flush();
    pass(6 * DAY_MS);
    limitsMet.note("rate_limit.address", { ...NOBODY, party: "192.0.2.1" });
    await limitsMet.flush();
    expect(await list()).toEqual([
      ["rate_limit.address", "192.0.2.1", 3],
      ["limits.streams", "192.0.2.1", 1],
    ]);
    pass(2 * DAY_MS);
    limitsMet.note("rate_limit.address", { ...NOBODY, party: "192.0.2.2" });
    await limitsMet.flush();
    expect(await list()).toEqual([
      ["rate_limit.address", "192.0.2.1", 3],
      ["rate_limit.address", "192.0.2.2", 1],
    ]);
    pass(8 * DAY_MS);
    expect(await list()).toEqual([]);
  });

  it("flood from many addresses → bounded memory and rows; the metric counts everything", async () => {
    const { limitsMet, pass, list, metered } = await recorder(newStore);
    const flood = (from: number) => {
      for (let index = 0; index < NOTED_MAXIMUM + 50; index += 1) {
        limitsMet.note("limits.connections", { ...NOBODY, party: `address ${from + index}` });
      }
    };
    flood(0);
    limitsMet.note("limits.connections", { ...NOBODY, party: "address 7" });
    await limitsMet.flush();
    const first = await list();
    expect([first.length, first[0]]).toEqual([WRITTEN_MAXIMUM, ["limits.connections", "address 7", 2]]);
    for (let wave = 1; wave <= 7; wave += 1) {
      pass(1000);
      flood(wave * 1000);
      await limitsMet.flush();
    }
    expect([(await list()).length, metered()]).toEqual([100, 8 * (NOTED_MAXIMUM + 50) + 1]);
  });

  it("status → limits with the names of key and organization, and no key", async () => {
    const location = await newStore();
    const status = (...flags: readonly string[]) => runServiceCommand("status", ...storeFlags(location), ...flags);
    const few = { per_second: 0.1, burst: 2 };
    const service = await startService({
      store: location,
      configuration: { rateLimit: { credential: few, address: few } },
      clock: { ...systemClock, monotonicMs: () => 0 },
    });
    expect(await status()).toMatchObject({
      stdout: expect.stringMatching(/^ORGANIZATION +ROBOTS +KEYS +ID *\ndefault +0 +1 +org_\w+\n$/),
      stderr: "Nobody met a limit in the last 7 days.\n",
    });
    for (let count = 0; count < 5; count += 1) await service.send("GET", "/v1/robots");
    for (let count = 0; count < 4; count += 1) await fetch(`${service.url}/v1/robots`);
    await service[Symbol.asyncDispose]();

    const { code, stdout, stderr } = await status();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/\nrate_limit\.credential +bootstrap \(key_\w+\) +default +3 +\S+Z +\S+Z\n/);
    expect(stdout).toMatch(/\nrate_limit\.address +127\.0\.0\.1 +- +2 +\S+Z +\S+Z\n$/);
    const json = await status("--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      organizations: [{ name: "default", robots: 0, api_keys: 1 }],
      limits_met: [
        { limit_name: "rate_limit.credential", label: "bootstrap", organization: "default", count: 3 },
        { limit_name: "rate_limit.address", party: "127.0.0.1", label: null, organization: null, count: 2 },
      ],
    });
    expect(stdout + json.stdout).not.toContain(service.key);
  });
});
