/** Each change to the credentials of one installation: its result, and that another installation stays as it is. */
import type { Transaction } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";

import {
  type Draft,
  draftCredential,
  forgetDisplaced,
  judgeRotation,
  markUsed,
  rotate,
} from "../../../../src/service/identity/credentials.ts";
import {
  findInstallationOf,
  findLiveByKey,
  IDENTITY_SETTINGS,
  install,
  type InstallationRow,
  lockInstallation,
  reissue,
  revokeInstallationOf,
  updateInstallation,
} from "../../../../src/service/identity/installations.ts";
import { isRobotOnline } from "../../../../src/service/identity/presence.ts";
import type { Tables } from "../../../../src/service/kernel/store/tables.ts";
import { openServiceParts } from "../../../support/service/service-parts.ts";

const ORGANIZATION = "org_1";

type Change = (
  transaction: Transaction<Tables>,
  parts: { readonly mine: InstallationRow; readonly first: string; readonly draft: Draft },
) => Promise<unknown>;

/** Two robots with an installation each. The other one has a credential of each standing, all used except the newest. */
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
      const of = { organization_id: ORGANIZATION, robot_id: robotId, approved_by: "key_1" };
      const installation = { ...of, id, public_key: `key-${name}` };
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

/** A renewal that presents the first value, another one, or none. */
const renewed =
  (rotation: Parameters<typeof rotate>[1], presented?: string | null): Change =>
  (transaction, { mine, first, draft }) =>
    rotate(transaction, rotation, {
      installation: mine,
      presentedSha256: presented === undefined ? first : presented,
      draft,
      graceUntil: draft.expires_at,
    });

const CHANGES: readonly (readonly [string, Change])[] = [
  ["renewed", renewed("advance")],
  ["displaced", renewed("displace")],
  ["renewed again in the same generation", renewed("repeat")],
  ["used", (transaction, { mine, first }) => markUsed(transaction, first, mine.id, mine.enrolled_at)],
  [
    "displaced credentials forgotten",
    async (transaction, parts) => {
      await renewed("displace", null)(transaction, parts);
      await forgetDisplaced(transaction, parts.mine.id);
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

  it("another organization asks → it finds and changes none", async () => {
    const { store, mine, everythingOf, at } = await scene();
    const {
      installation: [installation],
    } = await everythingOf(mine.id);
    const robotId = installation?.robot_id ?? "";
    const presence = { seen: () => undefined, onlineSince: at(-1) };
    await store.write((transaction) => updateInstallation(transaction, mine.id, { last_seen_at: at() }));
    const asked = (organizationId: string) =>
      store.write(async (transaction) => [
        (await lockInstallation(transaction, organizationId, mine.id))?.id,
        (await findInstallationOf(transaction, organizationId, robotId))?.id,
        await isRobotOnline(transaction, { organization_id: organizationId, id: robotId }, presence),
        await revokeInstallationOf(transaction, organizationId, robotId, at()),
      ]);
    expect(await asked("org_2")).toEqual([undefined, undefined, false, null]);
    expect(await asked(ORGANIZATION)).toEqual([mine.id, mine.id, true, mine.id]);
  });

  it("newer credentials of the other one → not counted in this generation", async () => {
    const { store, mine, other, draft, everythingOf, pass } = await scene();
    for (const id of [other.id, other.id, other.id, mine.id]) {
      pass(1000);
      const drafted = draft();
      await store.write(async (transaction) => {
        const installation = await lockInstallation(transaction, ORGANIZATION, id);
        if (installation === undefined) throw new Error("There is no such installation");
        await renewed("repeat", null)(transaction, { mine: installation, first: "", draft: drafted });
      });
    }
    const { credentials } = await everythingOf(mine.id);
    expect(credentials.map(({ standing }) => standing)).toEqual(["newest", "newest"]);
  });

  it("uses and values of the other one → not found for this one", async () => {
    const { store, mine, other } = await scene();
    await store.write(async (transaction) => {
      expect(await judgeRotation(transaction, { id: mine.id, generation: 1 }, other.first)).toBe("displace");
      expect(await judgeRotation(transaction, { id: other.id, generation: 1 }, other.first)).toBe("advance");
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

  const advanced = (by: number) => (issued: readonly string[]) => renewed("advance", issued[by] ?? "");
  const repeated = () => renewed("repeat", null);
  const displaced = (by: number | null) => (issued: readonly string[]) =>
    renewed("displace", by === null ? null : (issued[by] ?? ""));
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
      const robotId = await reissue(transaction, ORGANIZATION, mine.id, drafted, IDENTITY_SETTINGS);
      expect(robotId !== null).toBe(isIssued);
    });
    const { credentials } = await everythingOf(mine.id);
    const tokens = credentials.map(({ token_sha256: token }) => token);
    expect(tokens).toEqual([isIssued ? drafted.token_sha256 : mine.first]);
  });

  it("markUsed → true only the first time", async () => {
    const { store, mine, at } = await scene();
    await store.write(async (transaction) => {
      expect(await markUsed(transaction, mine.first, mine.id, at())).toBe(true);
      expect(await markUsed(transaction, mine.first, mine.id, at())).toBe(false);
    });
  });
});

describe("judgeRotation", () => {
  it.each([
    ["newest", 3, "first", "advance"],
    ["newest", 3, "newest", "advance"],
    ["previous", null, "first", "repeat"],
    ["previous", null, "newest", "displace"],
    ["superseded", null, "first", "displace"],
    ["superseded", null, "newest", "displace"],
    ["displaced", 3, "first", "displace"],
    ["displaced", 3, "newest", "freeze"],
    ["displaced", 2, "second", "freeze"],
    ["displaced", 3, "second", "displace"],
    ["unknown", null, "newest", "displace"],
    ["none", null, "newest", "displace"],
  ] as const)("%s value, displaced by %s, the %s was used → %s", async (presented, displacedBy, used, rotation) => {
    const { store, mine, at } = await scene();
    await store.write(async (transaction) => {
      const first = await transaction
        .selectFrom("robot_credentials")
        .selectAll()
        .where("token_sha256", "=", mine.first)
        .executeTakeFirstOrThrow();
      const standing = presented === "unknown" || presented === "none" ? "superseded" : presented;
      const change = { standing, displaced_by: displacedBy, used_at: used === "first" ? at() : null };
      await transaction.updateTable("robot_credentials").set(change).where("token_sha256", "=", mine.first).execute();
      for (const [generation, token] of [
        [2, "second"],
        [3, "newest"],
      ] as const) {
        const value = { ...first, token_sha256: token, generation, used_at: used === token ? at() : null };
        await transaction.insertInto("robot_credentials").values(value).execute();
      }
      const shown = presented === "none" ? null : presented === "unknown" ? "unknown" : mine.first;
      expect(await judgeRotation(transaction, { id: mine.id, generation: 3 }, shown)).toBe(rotation);
    });
  });
});

function times<Value>(count: number, value: Value): readonly Value[] {
  return Array.from({ length: count }, () => value);
}
