import { describe, expect, it, onTestFinished } from "vitest";

import { systemRandom } from "../../../../src/platform/random.ts";
import { readExpiry } from "../../../../src/service/commands/keys.ts";
import type { Principal } from "../../../../src/service/kernel/auth/authenticate.ts";
import { createLastUsed, NOTED_CREDENTIALS_MAXIMUM } from "../../../../src/service/kernel/auth/last-used.ts";
import { insertSession } from "../../../../src/service/kernel/auth/session-queries.ts";
import { CredentialEndedError, isStillValid, writeAs } from "../../../../src/service/kernel/auth/credentials.ts";
import { ALL_ROWS } from "../../../../src/service/kernel/lists/pages.ts";
import { openStore } from "../../../../src/service/kernel/store/open-store.ts";
import { createOrganizationKey } from "../../../../src/service/keys/operations.ts";
import {
  countKeys,
  createdView,
  hasUnrestrictedKey,
  insertKey,
  listKeys,
  makeKey,
  markKeysRevoked,
} from "../../../../src/service/keys/keys.ts";
import { testFolder } from "../../../support/folder.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { openServiceParts, PRINCIPAL, type ServiceParts } from "../../../support/service/service-parts.ts";

const NOW = "2026-03-01T12:00:00.000Z";

describe("makeKey", () => {
  it("scopes → sorted and unique; of the key only its hash and tail", () => {
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
    ["2020-01-01T00:00:00Z", null],
    ["2020-01-01", null],
    ["0d", null],
    ["999999d", null],
    ["2030-01-31T08:00:00", null],
    ["2030-02-31", null],
    ["3x", null],
    ["-1d", null],
    ["1893456000", null],
    ["", null],
  ])("%j → %s", (text, expected) => {
    expect(readExpiry(text, Date.parse(NOW))).toBe(expected);
  });
});

describe("createLastUsed", () => {
  /** One key in its own store, and a clock that the test advances. */
  async function scene() {
    const dataDirectory = testFolder("last-used");
    const opened = await openStore({ kind: "sqlite", dataDirectory }, testMachine);
    onTestFinished(() => opened[Symbol.asyncDispose]());
    const wish = { organization_id: "org_1", label: "l", scopes: null, expires_at: null };
    const { row } = makeKey(wish, "key_1", NOW, systemRandom);
    await opened.write(async (transaction) => {
      await transaction.insertInto("organizations").values({ id: "org_1", name: "o", created_at: NOW }).execute();
      await insertKey(transaction, row);
    });
    let passedMs = 0;
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
      wallMs: () => Date.parse(NOW) + passedMs,
      monotonicMs: () => passedMs,
    };
    const lastUsed = createLastUsed(store, { ...testMachine, clock });
    return {
      lastUsed,
      pass: (ms: number) => {
        passedMs += ms;
      },
      use: (credentialId = row.id) => lastUsed.note({ credential: "api_key", credentialId }),
      writes: () => writes,
      stored: async () =>
        (await opened.reader.selectFrom("api_keys").select("last_used_at").executeTakeFirstOrThrow()).last_used_at,
    };
  }

  it("frequent use → written once a minute", async () => {
    const { lastUsed, use, pass, writes, stored } = await scene();
    expect(lastUsed.task).toMatchObject({ intervalMs: 60_000, ignoresNudges: true });
    for (let second = 0; second < 60; second += 1) {
      use();
      pass(1000);
    }
    await lastUsed.flush();
    expect([writes(), await stored()]).toEqual([1, "2026-03-01T12:00:59.000Z"]);
  });

  it("no use → nothing written", async () => {
    const { lastUsed, writes } = await scene();
    await lastUsed.flush();
    expect(writes()).toBe(0);
  });

  it("only moves forward; deleted keys are ignored", async () => {
    const { lastUsed, use, pass, stored } = await scene();
    use();
    await lastUsed.flush();
    pass(-60_000);
    use();
    use("key_gone");
    await lastUsed.flush();
    expect(await stored()).toBe(NOW);
  });

  it("many keys → a bounded number is remembered", async () => {
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

/** Rows of keys, equal except for the given members. */
function keyRow(id: string, parts: Partial<ReturnType<typeof makeKey>["row"]> = {}) {
  const wish = { organization_id: "org_1", label: "l", scopes: null, expires_at: null };
  return { ...makeKey(wish, id, NOW, systemRandom).row, ...parts };
}

const addKeys = ({ store }: ServiceParts, rows: readonly ReturnType<typeof keyRow>[]) =>
  store.write(async (transaction) => {
    for (const row of rows) await insertKey(transaction, row);
  });

describe("isStillValid", () => {
  const LATER_MS = 60_000;
  const cases: readonly [what: string, ends: (at: ServiceParts["at"]) => object, isValid: boolean][] = [
    ["one that ends a millisecond later", (at) => ({ expires_at: at(1) }), true],
    ["one that ends just now", (at) => ({ expires_at: at() }), false],
    ["one that ended today", (at) => ({ expires_at: at(-1) }), false],
    ["one that was revoked", (at) => ({ expires_at: at(LATER_MS), revoked_at: at() }), false],
  ];

  it.each([...cases, ["one that never ends", () => ({ expires_at: null }), true] as const])(
    "key: %s",
    async (_what, ends, isValid) => {
      await using parts = await openServiceParts();
      await addKeys(parts, [keyRow("key_1", ends(parts.at))]);
      expect(await parts.store.write((transaction) => isStillValid(transaction, PRINCIPAL, parts.at()))).toBe(isValid);
    },
  );

  it.each(cases)("session: %s", async (_what, ends, isValid) => {
    await using parts = await openServiceParts();
    const session = {
      id: "ses_1",
      organization_id: "org_1",
      kind: "cli",
      token_sha256: "",
      created_by: "key_1",
    } as const;
    const row = { ...session, scopes: null, created_at: NOW, last_used_at: null, expires_at: "", revoked_at: null };
    await parts.store.write((transaction) => insertSession(transaction, { ...row, ...ends(parts.at) }));
    const principal = { ...PRINCIPAL, credential: "session", credentialId: "ses_1" } as const;
    const judge = (of = principal) => parts.store.write((transaction) => isStillValid(transaction, of, parts.at()));
    expect(await judge()).toBe(isValid);
    expect(await judge({ ...principal, organizationId: "org_2" })).toBe(false);
  });

  it("unknown key, or of another organization → false", async () => {
    await using parts = await openServiceParts();
    await addKeys(parts, [keyRow("key_1")]);
    const judge = (principal: Partial<Principal>) =>
      parts.store.write((transaction) => isStillValid(transaction, { ...PRINCIPAL, ...principal }, parts.at()));
    expect(await judge({})).toBe(true);
    expect(await judge({ credentialId: "key_2" })).toBe(false);
    expect(await judge({ organizationId: "org_2" })).toBe(false);
  });
});

describe("POST /v1/me/api-keys", () => {
  const create = async (parts: ServiceParts, expiresAt: string, principal = PRINCIPAL) =>
    createOrganizationKey(parts.context)(
      parts.call({ principal, body: { label: "l", scopes: ["robots:setup"], expires_at: expiresAt }, query: null }),
    );

  it.each([
    [-1, 422],
    [0, 422],
    [1, 200],
  ])("key that expires in %d ms → %d", async (laterMs, status) => {
    await using parts = await openServiceParts();
    await addKeys(parts, [keyRow("key_1")]);
    expect((await create(parts, parts.at(laterMs))).status).toBe(status);
    expect(await listKeys(parts.store.reader, "org_1", ALL_ROWS)).toHaveLength(status === 200 ? 2 : 1);
  });

  it("credential ended before the body arrived → creates nothing", async () => {
    await using parts = await openServiceParts();
    await addKeys(parts, [keyRow("key_1", { expires_at: parts.at(-1) })]);
    const call = parts.call({
      write: writeAs(parts.store, parts.context.machine.clock, PRINCIPAL),
      body: { label: "l" },
      query: null,
    });
    await expect(createOrganizationKey(parts.context)(call)).rejects.toThrow(CredentialEndedError);
    expect(await listKeys(parts.store.reader, "org_1", ALL_ROWS)).toHaveLength(1);
  });
});

describe("keys in the store", () => {
  it("unrevoked keys → count towards the maximum and that of their organization", async () => {
    await using parts = await openServiceParts();
    const others = { organization_id: "org_2" };
    const revokedAt = parts.at();
    await addKeys(parts, [
      keyRow("key_1"),
      keyRow("key_2", { expires_at: parts.at(-1) }),
      keyRow("key_3", { revoked_at: revokedAt }),
      keyRow("key_4", others),
    ]);
    const count = (organizationId: string) =>
      parts.store.write((transaction) => countKeys(transaction, organizationId));
    expect([await count("org_1"), await count("org_2"), await count("org_3")]).toEqual([2, 1, 0]);
  });

  it("key revoked with those that depend on it → those that worked until then are counted", async () => {
    await using parts = await openServiceParts();
    const dependent = { parent_id: "key_1" };
    await addKeys(parts, [
      keyRow("key_1"),
      keyRow("key_2", dependent),
      keyRow("key_3", { ...dependent, expires_at: parts.at(1) }),
      keyRow("key_4", { ...dependent, expires_at: parts.at() }),
    ]);
    const revoke = () => parts.store.write((transaction) => markKeysRevoked(transaction, "org_1", "key_1", parts.at()));
    expect(await revoke()).toEqual({ lineage: ["key_1", "key_2", "key_3", "key_4"], othersEnded: 2 });
  });

  it.each([
    ["one that never ends", {}, true],
    ["one that ends later", { expires_at: "2026-03-01T12:00:00.001Z" }, true],
    ["one that has just ended", { expires_at: NOW }, false],
    ["one that is revoked", { revoked_at: NOW }, false],
    ["one that may do some things", { scopes: '["robots:setup"]' }, false],
    ["one of somebody else", { organization_id: "org_2" }, false],
  ])("has all scopes: %s → %j", async (_what, row, expected) => {
    await using parts = await openServiceParts();
    await addKeys(parts, [keyRow("key_1", row)]);
    expect(await parts.store.write((transaction) => hasUnrestrictedKey(transaction, "org_1", NOW))).toBe(expected);
  });

  it("many keys → all are listed, but not those of others", async () => {
    await using parts = await openServiceParts();
    await addKeys(
      parts,
      Array.from({ length: 1100 }, (_, index) => keyRow(`key_${String(index).padStart(4, "0")}`)),
    );
    await addKeys(parts, [keyRow("key_of_others", { organization_id: "org_2" })]);
    const listed = await listKeys(parts.store.reader, "org_1", ALL_ROWS);
    expect([listed.length, listed.at(-1)?.id]).toEqual([1100, "key_1099"]);
    const page = await listKeys(parts.store.reader, "org_1", { after: "key_0009", rows: 2 });
    expect(page.map(({ id }) => id)).toEqual(["key_0010", "key_0011"]);
  });
});

it("ten thousand keys → no more until one is revoked", async () => {
  await using parts = await openServiceParts();
  await addKeys(parts, [keyRow("key_1")]);
  await fillWithKeys(parts, 9999);
  const call = parts.call({ body: { label: "l" }, query: null });
  const create = async () => (await createOrganizationKey(parts.context)(call)).status;
  expect(await create()).toBe(409);
  await parts.store.write((transaction) => markKeysRevoked(transaction, "org_1", "key_of_0", NOW));
  expect(await create()).toBe(200);
});

/** Keys as created by a runaway script. */
async function fillWithKeys({ store }: ServiceParts, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => ({ ...keyRow(`key_of_${index}`), key_sha256: `${index}` }));
  await store.write(async (transaction) => {
    for (let from = 0; from < rows.length; from += 1000) {
      await transaction
        .insertInto("api_keys")
        .values(rows.slice(from, from + 1000))
        .execute();
    }
  });
}
