/** Selects the members of a fleet again, when an operator asks: by itself a fleet keeps the members that it has. */
import type { FleetMemberChanges } from "../../api/fleet-details.ts";
import { SELECTION_ROBOTS_COUNT } from "../../api/fleets.ts";
import { isoNow } from "../../platform/clock.ts";
import { type Answer, answerValue, isAnswer, refuse } from "../kernel/http/answers.ts";
import { authorship, type Handler, logChange } from "../kernel/operation.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import { type Reader, readSnapshot, type Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { answerFleet, type FleetsContext } from "./operations.ts";
import { type FleetKey, insertMembers, liveFleets, lockFleet, UNKNOWN_FLEET } from "./queries.ts";
import { parseSelection } from "./readiness/fleet-facts.ts";
import { selectRobotIds } from "./selection.ts";

/** `POST /v1/fleets/{fleet_id}/reconcile`: a repeated request changes nothing. */
export function reconcileFleet(context: FleetsContext): Handler<null> {
  const { newId, machine, nudge } = context;
  return async (call) => {
    const key = { id: call.path["fleet_id"] ?? "", organization_id: call.principal.organizationId };
    const author = authorship(call, newId, isoNow(machine.clock));
    const changed = await call.write((transaction) => reconcileMembers(transaction, key, author));
    if (isAnswer(changed)) return changed;
    if (changed.isChanged) {
      logChange(machine, "fleet_reconciled", author, { fleet_id: key.id });
      nudge();
    }
    return answerFleet(context, key);
  };
}

/** `GET /v1/fleets/{fleet_id}/reconcile`: what reconciling would change now. */
export function previewReconcile({ store }: FleetsContext): Handler<null> {
  return ({ principal: { organizationId }, path }) =>
    readSnapshot(store.reader, async (snapshot) => {
      const fleets = liveFleets(snapshot, organizationId).where("id", "=", path["fleet_id"] ?? "");
      const fleet = await fleets.executeTakeFirst();
      if (fleet === undefined) return UNKNOWN_FLEET;
      const plan = await planMembers(snapshot, fleet);
      if (isAnswer(plan)) return plan;
      return answerValue({
        joining: await listRobots(snapshot, organizationId, plan.joining),
        leaving: await listRobots(snapshot, organizationId, plan.leaving),
        registered: plan.registered,
        peak_active_robots: plan.peak,
      } satisfies FleetMemberChanges);
    });
}

/**
 * The fleet is locked meanwhile, so that an update of its model becomes active before or after this, never in between. An update in progress
 * stays, and is judged by the new members from then on.
 */
async function reconcileMembers(
  transaction: Transaction,
  key: FleetKey,
  author: Authorship,
): Promise<{ readonly isChanged: boolean } | Answer> {
  const fleet = await lockFleet(transaction, key);
  if (fleet === undefined) return UNKNOWN_FLEET;
  const plan = await planMembers(transaction, fleet);
  if (isAnswer(plan)) return plan;
  const { joining, leaving, peak } = plan;
  if (joining.length + leaving.length === 0) return { isChanged: false };
  const { id, name } = fleet;
  const members = transaction.deleteFrom("fleet_members").where("fleet_id", "=", id);
  if (leaving.length > 0) await members.where("robot_id", "in", leaving).execute();
  await insertMembers(transaction, id, joining);
  await transaction.updateTable("fleets").set({ peak_active_robots: peak }).where("id", "=", id).execute();
  const details = { name, joined: joining.length, left: leaving.length, peak_active_robots: peak };
  await audit(transaction, author, { action: "fleet.reconcile", subjectId: id, details });
  return { isChanged: true };
}

/** Ids of robots, oldest first. */
interface MemberPlan {
  readonly joining: readonly string[];
  readonly leaving: readonly string[];
  /** How many members there are afterwards. */
  readonly registered: number;
  readonly peak: number;
}

const { maximum: MEMBERS_MAXIMUM } = SELECTION_ROBOTS_COUNT;
const NO_MATCH = refuse("Conflict", "No robot matches the selector of this fleet any more; its members stay");
const ALL_REMOVED = refuse("Conflict", "All robots of this fleet were removed; delete it");
const TOO_MANY = refuse(
  "Conflict",
  `More than ${MEMBERS_MAXIMUM} robots match the selector of this fleet; its members stay`,
);

/** Members that stay are those that still match the selector, or, of a fleet with named robots, those that were not removed. */
async function planMembers(reader: Reader, fleet: Tables["fleets"]): Promise<MemberPlan | Answer> {
  const { selector } = parseSelection(fleet.selection);
  const members = await reader
    .selectFrom("fleet_members")
    .innerJoin("robots", "robots.id", "fleet_members.robot_id")
    .select(["robots.id", "robots.removed_at"])
    .where("fleet_id", "=", fleet.id)
    .orderBy("robots.id")
    .execute();
  const wanted =
    selector === null
      ? members.filter(({ removed_at: removedAt }) => removedAt === null).map(({ id }) => id)
      : await selectRobotIds(reader, fleet.organization_id, selector);
  if (wanted.length === 0) return selector === null ? ALL_REMOVED : NO_MATCH;
  if (wanted.length > MEMBERS_MAXIMUM) return TOO_MANY;
  const before = new Set(members.map(({ id }) => id));
  const after = new Set(wanted);
  return {
    joining: wanted.filter((id) => !before.has(id)),
    leaving: [...before].filter((id) => !after.has(id)),
    registered: wanted.length,
    peak: Math.min(fleet.peak_active_robots, wanted.length),
  };
}

async function listRobots(
  reader: Reader,
  organizationId: string,
  ids: readonly string[],
): Promise<FleetMemberChanges["joining"]> {
  if (ids.length === 0) return [];
  return reader
    .selectFrom("robots")
    .select(["id as robot_id", "name as robot", "robot_type_id", "region", "site"])
    .where("organization_id", "=", organizationId)
    .where("id", "in", ids)
    .orderBy("id")
    .execute();
}
