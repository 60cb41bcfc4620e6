import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, it, onTestFinished } from "vitest";

import { systemRandom } from "../../../src/platform/random.ts";
import { createLastUsed, NOTED_CREDENTIALS_MAXIMUM } from "../../../src/service/auth/last-used.ts";
import { createdView, makeKey } from "../../../src/service/auth/manage-keys.ts";
import { readExpiry } from "../../../src/service/commands/expiry.ts";
import { insertKey } from "../../../src/service/store/keys.ts";
import { openStore } from "../../../src/service/store/store.ts";
import { testMachine } from "../../support/machine.ts";

const NOW = "2026-03-01T12:00:00.000Z";

describe("makeKey", () => {
  it("keeps scopes in one order, each once, and nothing of the key but its hash and tail", () => {
    const wish = {
      organization_id: "org_1",
      label: "l",
      scopes: ["usage:read", "robots:setup", "usage:read"] as const,
      expires_at: null,
    };
    const { key, row } = makeKey(wish, "key_1", NOW, systemRandom);
    expect(row.scopes).toBe('["robots:setup","usage:read"]');
    expect(row.key_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(row)).not.toContain(key.slice(0, -4));
    expect(createdView(row, key)).toMatchObject({ api_key: key, key_last4: key.slice(-4) });
  });
});

describe("readExpiry", () => {
  it.each([
    ["90d", "2026-05-30T12:00:00.000Z"],
    ["12h", "2026-03-02T00:00:00.000Z"],
    ["30m", "2026-03-01T12:30:00.000Z"],
    ["2030-01-31T08:00:00+01:00", "2030-01-31T07:00:00.000Z"],
    ["2030-01-31", "2030-01-31T00:00:00.000Z"],
    ["2020-01-01T00:00:00Z", "This is no moment in the future."],
    ["2020-01-01", "This is no moment in the future."],
    ["0d", "This is no moment in the future."],
    ["999999d", "This is more than 100 years away."],
    ["2030-01-31T08:00:00", "This is not written as a time."],
    ["2030-02-31", "This is not written as a time."],
    ["3x", "This is not written as a time."],
    ["-1d", "This is not written as a time."],
    ["1893456000", "This is not written as a time."],
    ["", "This is not written as a time."],
  ])("%j → %s", (text, expected) => {
    const expiry = readExpiry(text, Date.parse(NOW));
    expect(expiry.state === "read" ? expiry.at : expiry.what).toBe(expected);
  });
});

describe("createLastUsed", () => {
  /** One key in a store of its own, and a clock that the test turns. */
  async function scene() {
    const data_directory = await mkdtemp(join(tmpdir(), "last-used-"));
    const opened = await openStore({ kind: "sqlite", data_directory }, testMachine);
    onTestFinished(async () => {
      await opened[Symbol.asyncDispose]();
      await rm(data_directory, { recursive: true });
    });
    const wish = { organization_id: "org_1", label: "l", scopes: null, expires_at: null };
    const { row } = makeKey(wish, "key_1", NOW, systemRandom);
    await opened.write(async (transaction) => {
      await transaction.insertInto("organizations").values({ id: "org_1", name: "o", created_at: NOW }).execute();
      await insertKey(transaction, row);
    });
    let passed_ms = 0;
    let writes = 0;
    const store: typeof opened = {
      ...opened,
      write(job) {
        writes += 1;
        return opened.write(job);
      },
    };
    const clock = {
      ...testMachine.clock,
      wall_ms: () => Date.parse(NOW) + passed_ms,
      monotonic_ms: () => passed_ms,
    };
    const lastUsed = createLastUsed(store, { ...testMachine, clock });
    return {
      lastUsed,
      pass: (ms: number) => {
        passed_ms += ms;
      },
      use: (credential_id = row.id) => lastUsed.note({ credential: "api_key", credential_id }),
      run: () => lastUsed.task.run(new AbortController().signal),
      writes: () => writes,
      stored: async () =>
        (await opened.reader.selectFrom("api_keys").select("last_used_at").executeTakeFirstOrThrow()).last_used_at,
    };
  }

  it("writes once a minute, however often a key is used and the task is nudged", async () => {
    const { use, pass, run, writes, stored } = await scene();
    for (let second = 0; second < 150; second += 1) {
      use();
      await run();
      pass(1000);
    }
    expect(writes()).toBe(2);
    expect(await stored()).toBe("2026-03-01T12:02:00.000Z");
  });

  it("writes nothing while nothing is used", async () => {
    const { pass, run, writes } = await scene();
    pass(120_000);
    await run();
    expect(writes()).toBe(0);
  });

  it("goes only forward, and takes keys that are gone for what they are", async () => {
    const { lastUsed, use, pass, stored } = await scene();
    use();
    await lastUsed.flush();
    pass(-60_000);
    use();
    use("key_gone");
    await lastUsed.flush();
    expect(await stored()).toBe(NOW);
  });

  it("notes a bounded number", async () => {
    const { lastUsed, use, stored } = await scene();
    for (let index = 0; index < NOTED_CREDENTIALS_MAXIMUM; index += 1) use(`key_other_${index}`);
    use();
    await lastUsed.flush();
    expect(await stored()).toBeNull();
    use();
    await lastUsed.flush();
    expect(await stored()).toBe(NOW);
  });
});
