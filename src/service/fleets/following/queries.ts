import { sql } from "kysely";
import {
  fleetSelectionViewSchema,
  MEMBERSHIP_CHANGES_SHOWN,
  type MembershipChange,
  membershipChangeSchema,
} from "../../../api/fleet-details.ts";
import { SELECTION_ROBOTS_COUNT } from "../../../api/fleets.ts";
import { chunksOf } from "../../kernel/auth/lineage.ts";
import type { Reader, Transaction } from "../../kernel/store/store.ts";
import type { Tables } from "../../kernel/store/tables.ts";
import { readLabels } from "../../robots/index.ts";
import { selectRobotIds } from "../member-queries.ts";
import type { Candidate, Selector } from "./rules.ts";

/** A fleet that follows its selector. */
export interface Following {
  readonly id: string;
  readonly selector: Selector;
  readonly leftOutId: string | null;
}

/** The fleets of an organization that follow their selector, oldest first. */
export async function listFollowing(reader: Reader, organizationId: string): Promise<readonly Following[]> {
  return (await following(reader, organizationId).execute()).map(read);
}

/**
 * The same, locked for a change of their members.
 *
 * @returns null while another transaction changes members in the organization: of two replicas, one does the work.
 */
export async function lockFollowing(
  transaction: Transaction,
  organizationId: string,
): Promise<readonly Following[] | null> {
  // Registrations refer to this row, which such a lock lets them.
  const free = await transaction
    .selectFrom("organizations")
    .select("id")
    .where("id", "=", organizationId)
    .forNoKeyUpdate()
    .skipLocked()
    .executeTakeFirst();
  if (free === undefined) return null;
  return (await following(transaction, organizationId).forUpdate().execute()).map(read);
}

function following(reader: Reader, organizationId: string) {
  return reader
    .selectFrom("fleets")
    .select(["id", "selection", "left_out_robot_id"])
    .where("organization_id", "=", organizationId)
    .where("follows_since", "is not", null)
    .where("removed_at", "is", null)
    .orderBy("id");
}

function read({
  id,
  selection,
  left_out_robot_id: leftOutId,
}: Pick<Tables["fleets"], "id" | "selection" | "left_out_robot_id">) {
  const { selector } = fleetSelectionViewSchema.parse(JSON.parse(selection));
  if (selector === null) throw new Error(`The store has a fleet that follows no selector: ${id}`);
  return { id, selector, leftOutId };
}

/** Checks per query. */
export const CHECKS_AT_A_TIME = 200;

/** Oldest first. @param after id of the last check of the batch before; empty for the first. */
export function listChecks(reader: Reader, after: string): Promise<readonly Tables["fleet_checks"][]> {
  return reader
    .selectFrom("fleet_checks")
    .selectAll()
    .where("id", ">", after)
    .orderBy("id")
    .limit(CHECKS_AT_A_TIME)
    .execute();
}

/** Removes these checks. @returns those that were still there. */
export async function takeChecks(
  transaction: Transaction,
  checks: readonly Tables["fleet_checks"][],
): Promise<readonly Tables["fleet_checks"][]> {
  if (checks.length === 0) return [];
  const ids = checks.map(({ id }) => id);
  return transaction.deleteFrom("fleet_checks").where("id", "in", ids).returningAll().execute();
}

/** Robots that match and are no members, and members that perhaps do not match. */
export async function findDrift(
  reader: Reader,
  organizationId: string,
  { id: fleetId, selector }: Following,
): Promise<readonly string[]> {
  const matching = new Set(await selectRobotIds(reader, organizationId, selector, SELECTION_ROBOTS_COUNT.maximum));
  const rows = await reader.selectFrom("fleet_members").select("robot_id").where("fleet_id", "=", fleetId).execute();
  const members = new Set(rows.map(({ robot_id: robotId }) => robotId));
  return [...[...matching].filter((id) => !members.has(id)), ...[...members].filter((id) => !matching.has(id))];
}

/** In the order of registration. */
export async function loadCandidates(
  reader: Reader,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly Candidate[]> {
  const rows = await reader
    .selectFrom("robots")
    .select(["id", "name", "site", "region", "robot_type_id", "labels", "removed_at"])
    .where("organization_id", "=", organizationId)
    .where("id", "in", ids)
    .orderBy("id")
    .execute();
  return rows.map(({ id, name, site, region, robot_type_id: robotTypeId, labels, removed_at: removedAt }) => ({
    id,
    name,
    site,
    region,
    robotTypeId,
    labels: readLabels(labels),
    isRemoved: removedAt !== null,
  }));
}

/** Which of these robots are members, by fleet. */
export async function loadMemberships(
  reader: Reader,
  robotIds: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await reader.selectFrom("fleet_members").selectAll().where("robot_id", "in", robotIds).execute();
  const byFleet = Map.groupBy(rows, ({ fleet_id: fleetId }) => fleetId);
  return new Map([...byFleet].map(([id, members]) => [id, new Set(members.map(({ robot_id: robotId }) => robotId))]));
}

export async function countMembers(reader: Reader, fleetIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await reader
    .selectFrom("fleet_members")
    .select("fleet_id")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("fleet_id", "in", fleetIds)
    .groupBy("fleet_id")
    .execute();
  return new Map(rows.map(({ fleet_id: fleetId, count }) => [fleetId, count]));
}

export async function addMembers(transaction: Transaction, members: readonly Tables["fleet_members"][]): Promise<void> {
  for (const rows of chunksOf(members)) await transaction.insertInto("fleet_members").values(rows).execute();
}

export async function removeMembers(
  transaction: Transaction,
  members: readonly Tables["fleet_members"][],
): Promise<void> {
  for (const [robotId, of] of Map.groupBy(members, ({ robot_id: robotId }) => robotId)) {
    const fleetIds = of.map(({ fleet_id: fleetId }) => fleetId);
    const some = transaction.deleteFrom("fleet_members").where("robot_id", "=", robotId);
    await some.where("fleet_id", "in", fleetIds).execute();
  }
}

export async function setLeftOut(transaction: Transaction, fleetId: string, robotId: string | null): Promise<void> {
  await transaction.updateTable("fleets").set({ left_out_robot_id: robotId }).where("id", "=", fleetId).execute();
}

/** Checkpoints of the generations in use, which newcomers may need in further regions. */
export async function checkpointsOf(reader: Reader, fleetIds: readonly string[]): Promise<readonly string[]> {
  const rows = await reader
    .selectFrom("generations")
    .select("checkpoint_id")
    .distinct()
    .where("fleet_id", "in", fleetIds)
    .where("superseded_at", "is", null)
    .execute();
  return rows.map(({ checkpoint_id: checkpointId }) => checkpointId);
}

/** The newest changes of the members of a fleet that follows its selector, or did. */
export async function listMembershipChanges(reader: Reader, fleetId: string): Promise<readonly MembershipChange[]> {
  const rows = await reader
    .selectFrom("audit_log")
    .select(["at", "action", "details"])
    .where("subject_id", "=", fleetId)
    // Literally as in the index, so that SQLite uses it.
    .where("action", "in", [sql.lit("fleet.join"), sql.lit("fleet.leave"), sql.lit("fleet.leave_out")])
    .orderBy("id", "desc")
    .limit(MEMBERSHIP_CHANGES_SHOWN.maximum)
    .execute();
  return rows.map(({ at, action, details }) =>
    membershipChangeSchema.parse({ ...JSON.parse(details), at, change: CHANGES.get(action) }),
  );
}

const CHANGES: ReadonlyMap<string, MembershipChange["change"]> = new Map([
  ["fleet.join", "joined"],
  ["fleet.leave", "left"],
  ["fleet.leave_out", "left_out"],
]);
