import { GENERATIONS_SHOWN } from "../../api/fleet-details.ts";
import {
  LIVE_COLUMNS,
  type LiveRow,
  presenceAt,
  type PresenceContext,
  presenceOf,
  storedOnlineSince,
} from "../identity/index.ts";
import { answerValue } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { type Reader, readSnapshot } from "../kernel/store/store.ts";
import { judgeMembers, membersOf } from "./fact-queries.ts";
import { UNKNOWN_FLEET } from "./changes.ts";
import { findFleetFacts } from "./queries.ts";
import { deriveDetails } from "./readiness/derive-details.ts";
import type { FleetFacts, GenerationRow, Member } from "./readiness/fleet-facts.ts";

/** `GET /v1/fleets/{fleet_id}/details`: members, generations, endpoints and windows, each with what keeps it from being ready. */
export function getFleetDetails(context: Pick<OperationContext, "store" | "machine"> & PresenceContext): Handler<null> {
  const { store, machine } = context;
  return async ({ principal, path }) => {
    const id = path["fleet_id"] ?? "";
    const { organizationId } = principal;
    const nowMs = machine.clock.wallMs();
    const onlineSince = storedOnlineSince(nowMs, context);
    const facts = await readSnapshot(store.reader, (snapshot) =>
      findFleetDetails(snapshot, organizationId, id, onlineSince),
    );
    if (facts === undefined) return UNKNOWN_FLEET;
    const details = deriveDetails(facts, nowMs);
    const presence = presenceAt(nowMs, context);
    const statuses = new Map(
      facts.members
        .filter((row) => row.installation_id !== null)
        .map((row) => [row.robot_id, presenceOf(row, presence).status]),
    );
    const members = details.members.map((member) => ({ ...member, status: statuses.get(member.robot_id) }));
    return answerValue({ ...details, members });
  };
}

/** Reads what the details of a fleet are derived from; undefined if the organization has no such fleet. */
async function findFleetDetails(reader: Reader, organizationId: string, fleetId: string, onlineSince: string) {
  const facts = await findFleetFacts(reader, organizationId, fleetId, onlineSince);
  if (facts === undefined) return undefined;
  const members = await loadMembers(reader, facts, onlineSince);
  return { ...facts, members, generations: await loadGenerations(reader, facts) };
}

/** The newest, and always the active one: more updates may have come after it than are shown, none of which replaced it. */
async function loadGenerations(reader: Reader, { id, active }: FleetFacts): Promise<readonly GenerationRow[]> {
  const rows = await reader
    .selectFrom("generations")
    .select(["id", "subject", "created_at", "activated_at", "superseded_at"])
    .where("fleet_id", "=", id)
    .orderBy(({ eb }) => eb.case().when("id", "=", active.id).then(0).else(1).end())
    .orderBy("id", "desc")
    .limit(GENERATIONS_SHOWN.maximum)
    .execute();
  return rows.toSorted((left, right) => (left.id < right.id ? 1 : -1));
}

async function loadMembers(
  reader: Reader,
  facts: FleetFacts,
  onlineSince: string,
): Promise<readonly (Member & LiveRow)[]> {
  const rows = await membersOf(reader, [facts.id], onlineSince)
    .select(["robots.id as robot_id", "robots.name as example", "site", "robots.installation_id"])
    .select(LIVE_COLUMNS)
    .select(({ lit }) => lit(1).as("count"))
    .orderBy("robots.id")
    .execute();
  return judgeMembers(reader, rows, facts);
}
