import type {
  FleetDetails,
  FleetEndpointView,
  FleetGenerationView,
  FleetMemberView,
} from "../../../api/fleet-details.ts";
import { shown } from "../../../documents/texts.ts";
import { isoTime } from "../../../platform/clock.ts";
import { ENDPOINT_STATUS, endpointWait } from "../../endpoints/index.ts";
import { type AssessedFleet, assessFleet } from "./assessment.ts";
import { deriveFleet, type WholeFleetView } from "./derive-fleet.ts";
import {
  type FleetDetailFacts,
  type GenerationFacts,
  type GenerationRow,
  type Member,
  type MemberGroup,
  parseSelection,
  type WindowPosition,
  windowsOf,
} from "./fleet-facts.ts";
import { deriveNeeds } from "./needs.ts";

/** The details of a fleet at `nowMs`, from the same observations as its view. */
export function deriveDetails(facts: FleetDetailFacts, nowMs: number): FleetDetails {
  const assessed = assessFleet(facts, nowMs);
  const view = deriveFleet(assessed);
  const { needs, waiting } = deriveNeeds(assessed);
  return {
    created_at: facts.created_at,
    updated_at: updatedAt(facts.generations),
    operating_windows: windowsOf(facts.windows).map(({ startsMs, endsMs }) => ({
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
  const moments = generations.flatMap(({ superseded_at: supersededAt }) => supersededAt ?? []);
  const newest = generations.length > 1 ? generations[0]?.created_at : undefined;
  return [...moments, ...(newest === undefined ? [] : [newest])].toSorted().at(-1) ?? null;
}

function generationView(row: GenerationRow, view: WholeFleetView): FleetGenerationView {
  const { id: generationId, subject } = row;
  return {
    generation_id: generationId,
    subject,
    ...generationState(generationId, view),
    created_at: row.created_at,
    activated_at: row.activated_at,
  };
}

function generationState(
  id: string,
  { active_model: activeModel, update, blocker }: WholeFleetView,
): Pick<FleetGenerationView, "status" | "blocker"> {
  if (id === update?.generation_id) return { status: update.status, blocker: update.blocker ?? null };
  if (id !== activeModel?.generation_id) return { status: "superseded", blocker: null };
  const { status } = activeModel;
  return { status, blocker: status === "blocked" ? (blocker ?? null) : null };
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
function memberViews(members: readonly Member[], { facts, position, active }: AssessedFleet): FleetMemberView[] {
  const { peak_active_robots: peakActiveRobots } = facts;
  const { able, unable, generation } = active;
  const lacks = new Map(unable.map(({ group, reason }) => [group, reason]));
  const activeCount = able.filter(({ deployment }) => deployment === "active").length;
  let free = peakActiveRobots - activeCount;

  function stateOf(member: Member): Pick<FleetMemberView, "state" | "waiting_for" | "reason"> {
    if (member.isRemoved) return { state: "blocked", waiting_for: null, reason: "The robot was removed." };
    const lack = lacks.get(member);
    if (lack !== undefined)
      return { state: "blocked", waiting_for: null, reason: `${shown(generation.subject)} ${lack}.` };
    if (member.deployment === "active") return { state: "active", waiting_for: null, reason: null };
    if (member.isOffline) return { state: "waiting", waiting_for: "robot", reason: OFFLINE };
    const window = outsideWindows(position);
    if (window !== null) return { state: "waiting", waiting_for: "window", reason: window };
    const endpoint = endpointWait(member.region, generation.endpoints.get(member.region));
    if (endpoint !== null) return { state: "waiting", waiting_for: "endpoint", reason: endpoint };
    if (free <= 0) return { state: "waiting", waiting_for: "peak", reason: peakReached(peakActiveRobots, activeCount) };
    free -= 1;
    return { state: "ready", waiting_for: null, reason: null };
  }

  return members.map((member) => {
    const { example: robot, region, site } = member;
    const { state, waiting_for: waitingFor, reason } = stateOf(member);
    return {
      robot_id: member.robot_id,
      robot,
      robot_type_id: member.robot_type_id,
      region,
      site,
      state,
      waiting_for: waitingFor,
      reason,
    };
  });
}

const OFFLINE = "The robot is offline: its computer sends no heartbeats.";

function outsideWindows(position: WindowPosition): string | null {
  switch (position.state) {
    case "within":
      return null;
    case "before":
      return `The fleet is outside its operating windows until ${isoTime(position.startsMs)}.`;
    case "after":
      return "All operating windows of the fleet are past.";
  }
}

/** Deployments that robots request themselves may exceed the peak. */
function peakReached(peak: number, activeCount: number): string {
  const kept = `The fleet keeps capacity for ${peak} ${peak === 1 ? "robot" : "robots"} at once (peak_active_robots)`;
  if (activeCount > peak) return `${kept}, and ${activeCount} are active.`;
  return `${kept}, and ${peak === 1 ? "one is" : "as many are"} active or ready.`;
}
