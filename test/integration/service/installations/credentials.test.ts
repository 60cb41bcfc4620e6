/** Each change to the credentials of one installation: its result, and that another installation stays as it is. */
import type { Transaction } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";

import {
  advance,
  countNoncesSince,
  displace,
  findPresented,
  forgetDisplaced,
  isNonceUsed,
  isUsedSince,
  markUsed,
  repeat,
} from "../../../../src/service/installations/credential-queries.ts";
import {
  type Draft,
  draftCredential,
  install,
  reissue,
  revokeInstallationOf,
} from "../../../../src/service/installations/issue.ts";
import {
  findLiveByKey,
  type InstallationRow,
  lockInstallation,
  updateInstallation,
} from "../../../../src/service/installations/queries.ts";
import { IDENTITY_SETTINGS } from "../../../../src/service/installations/rules.ts";
import type { Tables } from "../../../../src/service/kernel/store/tables.ts";
import { openServiceParts } from "../../../support/service/service-parts.ts";

const ORGANIZATION = "org_1";
/** A renewal nonce of the other robot. */
const NONCE = "nonce";

type Change = (
  transaction: Transaction<Tables>,
  parts: { readonly mine: InstallationRow; readonly first: string; readonly draft: Draft },
) => Promise<unknown>;

/** Two robots with an installation each. The other one has a credential of each standing, all used except the newest, and a nonce. */
async function scene() {
  const parts = await openServiceParts();
  onTestFinished(parts[Symbol.asyncDispose]);
  const { context, store } = parts;
  const draft = () => draftCredential(context.machine, IDENTITY_SETTINGS);
  const installed = async (name: string) => {
    await parts.register(name);
    const id = context.newId("rinst");
    const first = draft();
    await store.write(async (transaction) => {
      const robots = transaction.selectFrom("robots").select("id").where("name", "=", name);
      const { id: robotId } = await robots.executeTakeFirstOrThrow();
      const installation = { id, organizationId: ORGANIZATION, robotId, publicKey: `key-${name}`, approvedBy: "key_1" };
      await install(transaction, installation, first, IDENTITY_SETTINGS);
    });
    return { id, first: first.token_sha256 };
  };
  const other = await installed("other");
  const mine = await installed("mine");
  await store.write(async (transaction) => {
    const row = await transaction
      .selectFrom("robot_credentials")
      .selectAll()
      .where("installation_id", "=", other.id)
      .executeTakeFirstOrThrow();
    for (const standing of ["previous", "displaced", "superseded"] as const) {
      const value = {
        ...row,
        standing,
        token_sha256: `other-${standing}`,
        used_at: parts.at(),
        displaced_by: standing === "displaced" ? 1 : null,
        expires_at: standing === "superseded" ? parts.at(-1) : row.expires_at,
      };
      await transaction.insertInto("robot_credentials").values(value).execute();
    }
    const nonce = { installation_id: other.id, nonce_sha256: NONCE, used_at: parts.at() };
    await transaction.insertInto("renewal_nonces").values(nonce).execute();
  });
  const everythingOf = async (id: string) => ({
    robot: await store.reader.selectFrom("robots").selectAll().where("installation_id", "=", id).execute(),
    installation: await store.reader.selectFrom("installations").selectAll().where("id", "=", id).execute(),
    credentials: await store.reader
      .selectFrom("robot_credentials")
      .selectAll()
      .where("installation_id", "=", id)
      .orderBy("token_sha256")
      .execute(),
  });
  return { ...parts, mine, other, draft, everythingOf };
}

const CHANGES: readonly (readonly [string, Change])[] = [
  [
    "renewed",
    (transaction, { mine, first, draft }) =>
      advance(transaction, { installation: mine, presentedSha256: first, draft }, "2026-06-01T12:10:00.000Z"),
  ],
  [
    "displaced",
    (transaction, { mine, first, draft }) =>
      displace(transaction, { installation: mine, presentedSha256: first, draft }),
  ],
  [
    "renewed again in the same generation",
    (transaction, { mine, first, draft }) => repeat(transaction, { installation: mine, presentedSha256: first, draft }),
  ],
  ["used", (transaction, { mine, first }) => markUsed(transaction, first, mine.id, mine.enrolled_at)],
  [
    "displaced credentials forgotten",
    async (transaction, { mine, draft }) => {
      await displace(transaction, { installation: mine, presentedSha256: null, draft });
      await forgetDisplaced(transaction, mine.id);
    },
  ],
  [
    "first credential issued again",
    (transaction, { mine, draft }) => reissue(transaction, ORGANIZATION, mine.id, draft, IDENTITY_SETTINGS),
  ],
  ["frozen", (transaction, { mine }) => updateInstallation(transaction, mine.id, { state: "frozen" })],
  [
    "revoked",
    (transaction, { mine }) => revokeInstallationOf(transaction, ORGANIZATION, mine.robot_id, mine.enrolled_at),
  ],
];

describe("two installations", () => {
  it.each(CHANGES)("one is %s → the other one is unchanged", async (_title, change) => {
    const { store, mine, other, draft, everythingOf, pass } = await scene();
    const [mineBefore, otherBefore] = [await everythingOf(mine.id), await everythingOf(other.id)];
    pass(1000);
    const drafted = draft();
    await store.write(async (transaction) => {
      const installation = await lockInstallation(transaction, ORGANIZATION, mine.id);
      if (installation === undefined) throw new Error("There is no such installation");
      await change(transaction, { mine: installation, first: mine.first, draft: drafted });
    });
    expect(await everythingOf(other.id)).toEqual(otherBefore);
    expect(await everythingOf(mine.id)).not.toEqual(mineBefore);
  });

  it("newer credentials of the other one → not counted in this generation", async () => {
    const { store, mine, other, draft, everythingOf, pass } = await scene();
    for (const id of [other.id, other.id, other.id, mine.id]) {
      pass(1000);
      const drafted = draft();
      await store.write(async (transaction) => {
        const installation = await lockInstallation(transaction, ORGANIZATION, id);
        if (installation === undefined) throw new Error("There is no such installation");
        await repeat(transaction, { installation, presentedSha256: null, draft: drafted });
      });
    }
    const { credentials } = await everythingOf(mine.id);
    expect(credentials.map(({ standing }) => standing)).toEqual(["newest", "newest"]);
  });

  it("uses, values and nonces of the other one → not found for this one", async () => {
    const { store, mine, other, at } = await scene();
    await store.write(async (transaction) => {
      expect(await isUsedSince(transaction, mine.id, 1)).toBe(false);
      expect(await isUsedSince(transaction, other.id, 1)).toBe(true);
      expect(await isUsedSince(transaction, other.id, 2)).toBe(false);
      expect(await findPresented(transaction, mine.id, other.first)).toBeNull();
      expect(await findPresented(transaction, other.id, other.first)).toEqual({ standing: "newest", isCopied: false });
      expect(await isNonceUsed(transaction, mine.id, NONCE)).toBe(false);
      expect(await isNonceUsed(transaction, other.id, NONCE)).toBe(true);
      expect(await isNonceUsed(transaction, other.id, "another")).toBe(false);
      expect(await countNoncesSince(transaction, mine.id, at(-1))).toBe(0);
      expect(await countNoncesSince(transaction, other.id, at(-1))).toBe(1);
      expect(await countNoncesSince(transaction, other.id, at())).toBe(0);
      expect(await lockInstallation(transaction, "org_2", mine.id)).toBeUndefined();
    });
    expect((await findLiveByKey(store.reader, "key-mine"))?.id).toBe(mine.id);
    expect((await findLiveByKey(store.reader, "key-other"))?.id).toBe(other.id);
    expect(await findLiveByKey(store.reader, "key-none")).toBeUndefined();
  });
});

describe("credentials of an installation: standings", () => {
  /** Performs the steps one second apart. Resolves with the standing of each credential, in order of issue. */
  async function standingsAfter(...steps: readonly ((presented: readonly string[]) => Change)[]) {
    const { store, mine, draft, pass } = await scene();
    const issued = [mine.first];
    for (const step of steps) {
      pass(1000);
      const drafted = draft();
      await store.write(async (transaction) => {
        const installation = await lockInstallation(transaction, ORGANIZATION, mine.id);
        if (installation === undefined) throw new Error("There is no such installation");
        const generation = await step(issued)(transaction, { mine: installation, first: mine.first, draft: drafted });
        if (typeof generation === "number") await updateInstallation(transaction, mine.id, { generation });
      });
      issued.push(drafted.token_sha256);
    }
    const rows = await store.reader
      .selectFrom("robot_credentials")
      .select(["token_sha256", "standing", "displaced_by"])
      .where("installation_id", "=", mine.id)
      .execute();
    const inOrder = issued.flatMap((token) => rows.filter(({ token_sha256: each }) => each === token));
    return inOrder.map(({ standing, displaced_by: by }) => (by === null ? standing : `${standing} by ${by}`));
  }

  const advanced =
    (by: number) =>
    (issued: readonly string[]): Change =>
    (transaction, { mine, draft }) =>
      advance(transaction, { installation: mine, presentedSha256: issued[by] ?? "", draft }, draft.expires_at);
  const repeated =
    (): Change =>
    (transaction, { mine, draft }) =>
      repeat(transaction, { installation: mine, presentedSha256: null, draft });
  const displaced =
    (by: number | null) =>
    (issued: readonly string[]): Change =>
    (transaction, { mine, draft }) =>
      displace(transaction, {
        installation: mine,
        presentedSha256: by === null ? null : (issued[by] ?? ""),
        draft,
      });
  const used =
    (which: number) =>
    (issued: readonly string[]): Change =>
    (transaction, { mine }) =>
      markUsed(transaction, issued[which] ?? "", mine.id, mine.enrolled_at);
  const forgotten =
    (): Change =>
    (transaction, { mine }) =>
      forgetDisplaced(transaction, mine.id);
  const expireAll =
    (): Change =>
    (transaction, { mine, draft }) =>
      transaction
        .updateTable("robot_credentials")
        .set({ expires_at: mine.enrolled_at, renew_at: draft.renew_at })
        .where("installation_id", "=", mine.id)
        .execute();

  it.each([
    ["renewal with the newest", [advanced(0)], ["previous", "newest"]],
    ["first use of the newest", [advanced(0), used(1)], ["superseded", "newest"]],
    ["first use of the previous one", [advanced(0), used(0)], ["previous", "newest"]],
    ["second renewal", [advanced(0), advanced(1)], ["superseded", "previous", "newest"]],
    [
      "renewal with one of several newest",
      [repeated, repeated, advanced(1)],
      ["superseded", "previous", "superseded", "newest"],
    ],
    [
      "fifth credential of one generation",
      [repeated, repeated, repeated, repeated],
      ["superseded", ...times(4, "newest")],
    ],
    [
      "fifth credential after a displacement",
      [displaced(null), repeated, repeated, repeated, repeated],
      ["displaced by 2", "superseded", ...times(4, "newest")],
    ],
    ["displaced credentials forgotten", [displaced(null), forgotten], ["superseded", "newest"]],
    ["displacement by an unknown value", [displaced(null)], ["displaced by 2", "newest"]],
    ["displacement by the previous one", [advanced(0), displaced(0)], ["superseded", "displaced by 3", "newest"]],
    ["displacement by a displaced one", [displaced(null), displaced(0)], ["superseded", "displaced by 3", "newest"]],
    ["renewal after a displacement", [displaced(null), advanced(1)], ["displaced by 2", "previous", "newest"]],
    [
      "renewal when all are expired: only superseded ones are deleted",
      [displaced(null), advanced(1), advanced(2), expireAll, advanced(3)],
      ["displaced by 2", "previous", "newest"],
    ],
  ] as const)("%s", async (_title, steps, standings) => {
    expect(await standingsAfter(...steps)).toEqual(standings);
  });

  it.each([
    ["unchanged", {}, true],
    ["frozen", { state: "frozen" }, false],
    ["revoked", { state: "revoked" }, false],
    ["of a later generation", { generation: 2 }, false],
  ] as const)("reissue of the first credential: installation %s", async (_title, change, isIssued) => {
    const { store, mine, draft, everythingOf } = await scene();
    const drafted = draft();
    await store.write(async (transaction) => {
      await updateInstallation(transaction, mine.id, { recoveries_remaining: 1, ...change });
      expect(await reissue(transaction, ORGANIZATION, mine.id, drafted, IDENTITY_SETTINGS)).toBe(isIssued);
    });
    const { credentials } = await everythingOf(mine.id);
    const tokens = credentials.map(({ token_sha256: token }) => token);
    expect(tokens).toEqual([isIssued ? drafted.token_sha256 : mine.first]);
  });

  it("markUsed → true only the first time; displaced value → isCopied once a newer one was used", async () => {
    const { store, mine, draft, at } = await scene();
    await store.write(async (transaction) => {
      const installation = await lockInstallation(transaction, ORGANIZATION, mine.id);
      if (installation === undefined) throw new Error("There is no such installation");
      expect(await markUsed(transaction, mine.first, mine.id, at())).toBe(true);
      expect(await markUsed(transaction, mine.first, mine.id, at())).toBe(false);
      const newer = draft();
      await displace(transaction, { installation, presentedSha256: null, draft: newer });
      expect(await findPresented(transaction, mine.id, mine.first)).toEqual({ standing: "displaced", isCopied: false });
      await markUsed(transaction, newer.token_sha256, mine.id, at());
      expect(await findPresented(transaction, mine.id, mine.first)).toEqual({ standing: "displaced", isCopied: true });
    });
  });
});

function times<Value>(count: number, value: Value): readonly Value[] {
  return Array.from({ length: count }, () => value);
}
