import { sql } from "kysely";
import type { Transaction } from "kysely";

import type { RobotSetup } from "../../api/robots.ts";
import { printJson } from "../kernel/json/print-json.ts";
import type { PageRange } from "../kernel/lists/page-range.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { equipmentOf } from "./equipment.ts";
import type { RecentChangesRow } from "./recent-changes.ts";
import { addLabels, labelHash, removeLabels } from "./selection.ts";

/** The columns that lists show. */
export type RobotRow = Pick<Tables["robots"], (typeof COLUMNS)[number]>;

const COLUMNS = ["id", "name", "robot_type_id", "region", "created_at", "site", "labels"] as const;

/** The result of a setup. */
export interface Registered extends RobotRow, RecentChangesRow {
  /** `added`: the name is new. `refitted`: type, region or contract changed, so that fleets must be evaluated again. */
  readonly change: "added" | "replaced" | "refitted";
  /** Whether anything changed; false for a new robot. The members of `RecentChangesRow` do not include this change yet. */
  readonly hasChanged: boolean;
  /** Audit entry of the previous registration. */
  readonly previous_audit_id: string | null;
  /** Whether the caller must write the audit entry that `identity` names. */
  readonly isEntered: boolean;
}

/** A setup as the store keeps it: as texts, so that a waiting write takes no more memory than its request. */
export interface Registration extends Pick<
  Tables["robots"],
  | "name"
  | "robot_type_id"
  | "region"
  | "configuration_digest"
  | "site"
  | "labels"
  | "contract"
  | "equipment"
  | "equipment_sha256"
> {
  readonly labelHashes: readonly string[];
}

export function registrationOf(setup: RobotSetup): Registration {
  const { name, region } = setup;
  const contract = setup.contract === null || setup.contract === undefined ? null : printJson(setup.contract);
  return {
    name,
    robot_type_id: setup.robot_type_id,
    region,
    configuration_digest: setup.configuration_digest,
    site: setup.site ?? null,
    labels: printJson(setup.labels ?? {}),
    contract,
    ...equipmentOf(contract),
    labelHashes: Object.entries(setup.labels ?? {}).map(labelHash),
  };
}

/**
 * Registers a robot, or replaces the registration with that name: id and created_at stay, everything else is replaced. Concurrent
 * setups with one name create one robot, on any replicas.
 *
 * @param identity id, time and first change for a new robot, and the audit entry of this registration.
 */
export async function upsertRobot(
  transaction: Transaction<Tables>,
  organizationId: string,
  registration: Registration,
  identity: RobotIdentity,
): Promise<Registered> {
  const { id, now } = identity;
  const [robot] = await upsert(transaction, { ...registration, ...identity, organizationId });
  if (robot === undefined) throw new Error("A robot was neither added nor replaced");
  const { refitted_at: refittedAt, changed_at: changedAt, audit_id: auditId, ...registered } = robot;
  const change = robot.id === id ? "added" : refittedAt === now ? "refitted" : "replaced";
  const hasChanged = change !== "added" && changedAt === now;
  if (hasChanged) await removeLabels(transaction, robot.id);
  if (hasChanged || change === "added") {
    await addLabels(transaction, organizationId, robot.id, registration.labelHashes);
  }
  return { ...registered, change, hasChanged, isEntered: auditId === identity.auditId };
}

export interface RobotIdentity {
  readonly id: string;
  readonly now: string;
  readonly auditId: string;
  readonly recentChanges: string;
  /** Id of the key that registers it. */
  readonly madeBy: string;
  /** If the registration changes nothing: 1 keeps the audit entry of the previous registration, 0 writes a new one. */
  readonly keepsEntry: 0 | 1;
}

/** Scans all robots of the organization, in an index only. */
export async function countRobots(reader: Reader, organizationId: string): Promise<number> {
  const { count } = await reader
    .selectFrom("robots")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .executeTakeFirstOrThrow();
  return count;
}

/** How many robots of the organization were first registered with a key. */
export async function countRobotsMadeBy(reader: Reader, organizationId: string, keyId: string): Promise<number> {
  const { count } = await reader
    .selectFrom("robots")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("made_by", "=", keyId)
    .where("organization_id", "=", organizationId)
    .executeTakeFirstOrThrow();
  return count;
}

export async function isRobotName(
  transaction: Transaction<Tables>,
  organizationId: string,
  name: string,
): Promise<boolean> {
  const robot = await transaction
    .selectFrom("robots")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("name", "=", name)
    .executeTakeFirst();
  return robot !== undefined;
}

/** Robots of an organization, oldest first. */
export function listRobots(
  reader: Reader,
  organizationId: string,
  { after, rows }: PageRange,
): Promise<readonly RobotRow[]> {
  let query = reader.selectFrom("robots").select(COLUMNS).where("organization_id", "=", organizationId);
  if (after !== null) query = query.where("id", ">", after);
  if (rows !== null) query = query.limit(rows);
  return query.orderBy("id").execute();
}

/** The robot with this id, or else with this name. */
export async function findRobot(reader: Reader, organizationId: string, robot: string): Promise<RobotRow | undefined> {
  const found = await reader
    .selectFrom("robots")
    .select(COLUMNS)
    .where("organization_id", "=", organizationId)
    .where((where) => where.or([where("id", "=", robot), where("name", "=", robot)]))
    .execute();
  return found.find(({ id }) => id === robot) ?? found[0];
}

const upsert = prepare<
  Registration & RobotIdentity & { readonly organizationId: string },
  RobotRow & RecentChangesRow & Pick<Tables["robots"], "refitted_at" | "changed_at" | "audit_id" | "previous_audit_id">
>((database, parameter) =>
  database
    .insertInto("robots")
    .values({
      id: parameter("id"),
      organization_id: parameter("organizationId"),
      name: parameter("name"),
      robot_type_id: parameter("robot_type_id"),
      region: parameter("region"),
      configuration_digest: parameter("configuration_digest"),
      site: parameter("site"),
      labels: parameter("labels"),
      contract: parameter("contract"),
      equipment: parameter("equipment"),
      equipment_sha256: parameter("equipment_sha256"),
      created_at: parameter("now"),
      updated_at: parameter("now"),
      refitted_at: parameter("now"),
      changed_at: parameter("now"),
      audit_id: parameter("auditId"),
      recent_changes: parameter("recentChanges"),
      made_by: parameter("madeBy"),
    })
    .onConflict((conflict) =>
      conflict.columns(["organization_id", "name"]).doUpdateSet(({ ref, fn, case: when, and, eb }) => {
        const isFitted = and([
          eb("robots.robot_type_id", "=", ref("excluded.robot_type_id")),
          eb("robots.region", "=", ref("excluded.region")),
          eb(fn.coalesce("robots.contract", sql.lit("")), "=", fn.coalesce("excluded.contract", sql.lit(""))),
        ]);
        const isSame = and([
          isFitted,
          eb("robots.configuration_digest", "=", ref("excluded.configuration_digest")),
          eb("robots.labels", "=", ref("excluded.labels")),
          // No site is empty.
          eb(fn.coalesce("robots.site", sql.lit("")), "=", fn.coalesce("excluded.site", sql.lit(""))),
        ]);
        const keepsEntry = and([isSame, eb(parameter("keepsEntry"), "=", sql.lit<0 | 1>(1))]);
        return {
          robot_type_id: ref("excluded.robot_type_id"),
          region: ref("excluded.region"),
          configuration_digest: ref("excluded.configuration_digest"),
          site: ref("excluded.site"),
          labels: ref("excluded.labels"),
          contract: ref("excluded.contract"),
          equipment: ref("excluded.equipment"),
          equipment_sha256: ref("excluded.equipment_sha256"),
          updated_at: ref("excluded.updated_at"),
          refitted_at: when().when(isFitted).then(ref("robots.refitted_at")).else(ref("excluded.refitted_at")).end(),
          changed_at: when().when(isSame).then(ref("robots.changed_at")).else(ref("excluded.changed_at")).end(),
          audit_id: when().when(keepsEntry).then(ref("robots.audit_id")).else(ref("excluded.audit_id")).end(),
          previous_audit_id: when()
            .when(keepsEntry)
            .then(ref("robots.previous_audit_id"))
            .else(ref("robots.audit_id"))
            .end(),
        };
      }),
    )
    .returning(COLUMNS)
    .returning(["refitted_at", "changed_at", "audit_id", "previous_audit_id"])
    .returning(["recent_changes", "contested_since", "contested_at"]),
);
