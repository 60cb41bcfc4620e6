import {
  type FleetDetails,
  type FleetEndpointView,
  type FleetGenerationView,
  type FleetMemberView,
  GENERATIONS_SHOWN,
} from "../../api/fleet-details.ts";
import { shown } from "../../documents/texts.ts";
import { isoTime } from "../../platform/clock.ts";
import { ENDPOINT_STATUS, endpointWait } from "../endpoints/index.ts";
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
import type { Tables } from "../kernel/store/tables.ts";
import { warningsOf } from "../models/index.ts";
import { findFleetFacts, judgeMembers, membersOf, UNKNOWN_FLEET } from "./queries.ts";
import { type AssessedFleet, assessFleet } from "./readiness/assessment.ts";
import { deriveFleet, type MemberState, stateOf, type WholeFleetView } from "./readiness/derive-fleet.ts";
import {
  type FleetFacts,
  type GenerationFacts,
  type MemberGroup,
  parseSelection,
  type WindowPosition,
} from "./readiness/fleet-facts.ts";
import { deriveNeeds } from "./readiness/needs.ts";

/** `GET /v1/fleets/{fleet_id}/details`: members, generations, endpoints and windows, each with what keeps it from being ready. */
export function getFleetDetails(context: Pick<OperationContext, "store" | "machine"> & PresenceContext): Handler<null> {
  const { store, machine } = context;
  return async ({ principal, path }) => {
    const nowMs = machine.clock.wallMs();
    const onlineSince = storedOnlineSince(nowMs, context);
    const facts = await readSnapshot(store.reader, async (snapshot) => {
      const fleet = await findFleetFacts(snapshot, principal.organizationId, path["fleet_id"] ?? "", onlineSince);
      if (fleet === undefined) return undefined;
      const members = await loadMembers(snapshot, fleet, onlineSince);
      return { ...fleet, members, generations: await loadGenerations(snapshot, fleet) };
    });
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

/** The newest, and always the active one: more updates may have come after it than are shown, none of which replaced it. */
async function loadGenerations(reader: Reader, { id, active }: FleetFacts): Promise<readonly GenerationRow[]> {
  const rows = await reader
    .selectFrom("generations")
    .select(["id", "subject", "checkpoint_id", "created_at", "activated_at", "superseded_at"])
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

/** One member, as a group of one. */
export interface Member extends MemberGroup {
  readonly robot_id: string;
  readonly robot_type_id: string;
  readonly site: string | null;
}

type GenerationRow = Pick<
  Tables["generations"],
  "id" | "subject" | "checkpoint_id" | "created_at" | "activated_at" | "superseded_at"
>;

/** Everything that a fleet's details are derived from. */
export interface FleetDetailFacts extends FleetFacts {
  /** Oldest registration first. */
  readonly members: readonly Member[];
  /** Newest first; always includes the active generation. */
  readonly generations: readonly GenerationRow[];
}

/** The details of a fleet at `nowMs`, from the same observations as its view. */
export function deriveDetails(facts: FleetDetailFacts, nowMs: number): FleetDetails {
  const assessed = assessFleet(facts, nowMs);
  const view = deriveFleet(assessed);
  const { needs, waiting } = deriveNeeds(assessed);
  return {
    created_at: facts.created_at,
    updated_at: updatedAt(facts.generations),
    operating_windows: facts.windows.map(({ startsMs, endsMs }) => ({
      starts_at: isoTime(startsMs),
      ends_at: isoTime(endsMs),
    })),
    selection: parseSelection(facts.selection),
    generations: facts.generations.map((generation) => generationView(generation, view)),
    members: memberViews(facts.members, assessed),
    endpoints: [facts.active, ...(facts.update === null ? [] : [facts.update])].flatMap((generation) =>
      endpointViews(generation, facts.members),
    ),
    needs,
    waiting,
  };
}

/** When an update was last requested, cancelled or completed; null if there never was one. */
function updatedAt(generations: readonly GenerationRow[]): string | null {
  const ends = generations.flatMap(({ superseded_at: supersededAt }) => supersededAt ?? []);
  const newest = generations.length > 1 ? generations[0]?.created_at : undefined;
  return [...ends, ...(newest === undefined ? [] : [newest])].toSorted().at(-1) ?? null;
}

function generationView(row: GenerationRow, view: WholeFleetView): FleetGenerationView {
  const { id, subject, checkpoint_id, created_at, activated_at } = row;
  const { status, blocker } = generationState(id, view);
  return { generation_id: id, subject, checkpoint_id, status, blocker, created_at, activated_at };
}

function generationState(
  id: string,
  { active_model: activeModel, update, blocker }: WholeFleetView,
): Pick<FleetGenerationView, "status" | "blocker"> {
  if (id === update?.generation_id) return update;
  if (id !== activeModel.generation_id) return { status: "superseded", blocker: null };
  const { status } = activeModel;
  return { status, blocker: status === "blocked" ? blocker : null };
}

/** Endpoints in the regions of the fleet's robots. */
function endpointViews(
  { id: generationId, endpoints }: GenerationFacts,
  members: readonly MemberGroup[],
): FleetEndpointView[] {
  const regions = [...new Set(members.map(({ region }) => region))].toSorted();
  return regions.flatMap((region) => {
    const endpoint = endpoints.get(region);
    if (endpoint === undefined) return [];
    const { health, health_since: since, last_probed_at: checkedAt, last_error: detail } = endpoint;
    return [
      { generation_id: generationId, region, status: ENDPOINT_STATUS[health], since, checked_at: checkedAt, detail },
    ];
  });
}

/** The state of each member, consistent with the fleet's counts. Below the peak, the oldest members are ready first. */
function memberViews(members: readonly Member[], fleet: AssessedFleet): FleetMemberView[] {
  const states = members.map((member) => stateOf(member, fleet));
  let free = fleet.facts.peak_active_robots - states.filter((state) => state === "active").length;
  return members.map((member, index) => {
    const { robot_id, example: robot, robot_type_id, region, site } = member;
    const alone = states[index] ?? "blocked";
    const state = alone === "ready" && free <= 0 ? "peak" : alone;
    if (state === "ready") free -= 1;
    const reason = reasonOf(state, member, fleet);
    const said = warningsOf(fleet.active.generation.subject, member.warnings ?? []);
    const views = { robot_id, robot, robot_type_id, region, site, ...said };
    return state === "ready" || state === "active" || state === "blocked"
      ? { ...views, state, waiting_for: null, reason }
      : { ...views, state: "waiting", waiting_for: state, reason };
  });
}

/** Why a member is not ready, in one sentence; null if nothing prevents it. */
function reasonOf(state: MemberState, member: Member, { facts, position, active }: AssessedFleet): string | null {
  const peak = facts.peak_active_robots;
  switch (state) {
    case "ready":
    case "active":
      return null;
    case "blocked":
      if (member.isRemoved) return "The robot was removed.";
      return `${shown(active.generation.subject)} ${active.unable.get(member)}.`;
    case "robot":
      return "The robot is offline: its computer sends no heartbeats.";
    case "window":
      return outsideWindows(position);
    case "endpoint":
      return endpointWait(member.region, active.endpoints.get(member.region));
    case "peak":
      return `The fleet keeps capacity for ${peak} ${peak === 1 ? "robot" : "robots"} at once (peak_active_robots), and as many are active or ready.`;
  }
}

function outsideWindows(position: WindowPosition): string {
  return position.state === "before"
    ? `The fleet is outside its operating windows until ${isoTime(position.startsMs)}.`
    : "All operating windows of the fleet are past.";
}
