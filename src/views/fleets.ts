/** What operators see of fleets: their states, needs, robots and generations, and what a change of one brings about. */
import type {
  FleetDetails,
  FleetGenerationView,
  FleetMemberChanges,
  FleetMemberView,
  FleetNeed,
  FleetNeeds,
  PreviewedRobot,
  WaitingCounts,
} from "../api/fleet-details.ts";
import type { FleetView } from "../api/fleets.ts";
import type { ModelView } from "../api/models.ts";
import { shortDuration } from "../platform/text/relative-time.ts";
import {
  type Column,
  type Counts,
  counted,
  countsText,
  grouped,
  linkTo,
  past,
  toneOf,
  type Tone,
  type View,
} from "./view.ts";

/** A fleet with what is known beside its view. */
export interface FleetRow {
  readonly fleet: FleetView;
  readonly needs: readonly FleetNeed[];
  /** Null where the service does not say. */
  readonly waiting: WaitingCounts | null;
  /** Null in lists, and where the service has none. */
  readonly details: FleetDetails | null;
}

/** @param known null where the service does not say, or before it is loaded: then the blockers of the view stand in. */
export function fleetRow(
  fleet: FleetView,
  known: Pick<FleetNeeds, "needs" | "waiting"> | null,
  details: FleetDetails | null = null,
): FleetRow {
  return { fleet, needs: known?.needs ?? blockersOf(fleet), waiting: known?.waiting ?? null, details };
}

/** @param known the needs of all fleets; null as above. */
export function fleetRowWith(known: readonly FleetNeeds[] | null): (fleet: FleetView) => FleetRow {
  const byId = new Map(known?.map((item) => [item.fleet_id, item]));
  return (fleet) => fleetRow(fleet, byId.get(fleet.id) ?? null);
}

function blockersOf({ blocker, update }: FleetView): readonly FleetNeed[] {
  const updateBlocker = update?.blocker ?? null;
  const reasons = [blocker ?? null, updateBlocker === null ? null : `Update: ${updateBlocker}`];
  return reasons.flatMap((reason) => (reason === null ? [] : [{ reason, action: "" }]));
}

/** Most urgent first: fleets that serve no robot lead. */
export const FLEET_STATES = ["blocked", "stuck", "degraded", "preparing", "ready"] as const;

/** A preparing fleet with needs is stuck, because it does not become ready by itself. */
export function fleetState({ fleet: { status }, needs }: FleetRow): (typeof FLEET_STATES)[number] {
  return status === "preparing" && needs.length > 0 ? "stuck" : status;
}

/** Smaller is more urgent. A ready fleet whose update is blocked comes before those that get on by themselves. */
function urgencyOf(row: FleetRow): number {
  const state = fleetState(row);
  if (state === "ready" && row.needs.length > 0) return FLEET_STATES.indexOf("preparing") - 0.5;
  return FLEET_STATES.indexOf(state);
}

export const FLEETS: View<FleetRow> = {
  noun: "fleet",
  columns: [
    { name: "name", show: ({ fleet }) => fleet.name, weight: 1.5 },
    { name: "status", show: (row) => ({ kind: "state", state: fleetState(row) }), sortKey: urgencyOf },
    { name: "ready", show: robotCounts, sortKey: readyShare },
    { name: "model", show: ({ fleet }) => modelOf(fleet), weight: 1.2 },
    { name: "reason", show: (row) => ({ kind: "sentence", text: reasonOf(row) }), weight: 4 },
    { name: "action", show: actionsOf, weight: 3, from: "medium" },
    { name: "mode", show: ({ fleet }) => fleet.readiness_mode, from: "asked" },
    { name: "peak", show: ({ fleet }) => fleet.peak_active_robots, from: "asked" },
    { name: "id", show: ({ fleet }) => fleet.id, from: "wide" },
  ],
  filters: [
    { name: "status", valuesOf: (row) => [fleetState(row)] },
    { name: "model", valuesOf: ({ fleet }) => [modelOf(fleet)] },
    { name: "mode", valuesOf: ({ fleet }) => [fleet.readiness_mode] },
  ],
  factsOf: ({ fleet, details }) => [
    ["model", named(modelOf(fleet), fleet.active_model?.status)],
    ["update", fleet.update ? named(fleet.update.subject, fleet.update.status) : null],
    ["estimate", estimateText(fleet)],
    ["mode", `${fleet.readiness_mode}, ${peakText(fleet)}`],
    ["members", details === null ? null : selectionText(details)],
    ["created", past(details?.created_at)],
    ["updated", past(details?.updated_at)],
  ],
  empty: "There are no fleets yet",
};

function named(model: string, status: string | undefined): string {
  return status === undefined ? model : `${model} (${status})`;
}

/** The model that the fleet has now: a service may show that of an update as its subject. */
export function modelOf({ active_model: activeModel, subject }: FleetView): string {
  return activeModel?.subject ?? subject;
}

/** Robots that are over the peak or offline are counted apart from those that wait for an endpoint or a window. */
export function robotCounts({ fleet: { robots }, waiting }: Pick<FleetRow, "fleet" | "waiting">): Counts {
  const { peak = 0, robot = 0 } = waiting ?? {};
  const counts = [
    { word: "active", count: robots.active },
    { word: "ready", count: robots.ready },
    { word: OVER_THE_PEAK, count: peak },
    // The two may be of different times.
    { word: "waiting", count: Math.max(0, robots.waiting - peak - robot) },
    { word: "offline", count: robot },
    { word: "blocked", count: robots.blocked },
  ].filter(({ count }) => count > 0);
  return { kind: "counts", noun: "robot", counts, ready: robots.active + robots.ready, total: robots.registered };
}

/** Smaller is more urgent; a fleet without robots has nothing to look after. */
function readyShare(row: FleetRow): number {
  const { ready, total } = robotCounts(row);
  return total === 0 ? 1 : ready / total;
}

const OVER_THE_PEAK = "over the peak";

/** `ready in 2 min to 4 min`; empty without an estimate. */
export function estimateText({ readiness_estimate: estimate }: FleetView): string {
  if (estimate === null || estimate === undefined) return "";
  const { lower_seconds: lowerSeconds, upper_seconds: upperSeconds } = estimate;
  const [lower, upper] = [shortDuration(lowerSeconds * 1000), shortDuration(upperSeconds * 1000)];
  return lower === upper ? `ready in about ${upper}` : `ready in ${lower} to ${upper}`;
}

/** The peak; more robots may be active if they were deployed by hand. */
export function peakText({ robots: { active }, peak_active_robots: peak }: FleetView): string {
  const kept = `capacity is kept for ${peak} at once`;
  return active > peak ? `${kept}; ${active} are active` : kept;
}

function selectionText({ selection: { selector } }: FleetDetails): string {
  if (selector === null) return "named one by one";
  const { labels, ...filters } = selector;
  const parts = [...Object.entries(filters), ...Object.entries(labels)].flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${value}`],
  );
  return `${parts.join(", ")}, as of its creation or the last reconcile`;
}

/** For a list: the update in progress, and why the fleet is not ready; empty for a ready fleet without an update. */
export function reasonOf(row: FleetRow): string {
  const { update } = row.fleet;
  // The status first, because a narrow terminal cuts the end.
  const underWay = update ? `${update.status} update to ${update.subject}` : "";
  return [underWay, stateReasonOf(row)].filter((part) => part !== "").join("; ");
}

function stateReasonOf({ fleet, needs: [need] }: FleetRow): string {
  if (need !== undefined) return firstClause(need.reason);
  const { registered, blocked, waiting } = fleet.robots;
  if (fleet.status !== "degraded") return estimateText(fleet);
  if (blocked > 0) return `${blocked} of ${counted(registered, "robot")} cannot run its model`;
  return `an inference endpoint fails; ${counted(waiting, "robot")} ${waiting === 1 ? "waits" : "wait"}`;
}

/** The beginning of a reason, without the robots and servers that follow it. */
function firstClause(reason: string): string {
  return reason.replace(/^Update: /, "").split(/[:;.](?:\s|$)/, 1)[0] ?? "";
}

/** What the operator has to do; empty for nothing. */
function actionsOf({ needs }: FleetRow): string {
  return [...new Set(needs.map(({ action }) => action))].join(" ");
}

/** Items that say the same: one of the smallest rank comes first, of the same rank the largest group. */
function groupsOf<Item>(
  items: readonly Item[],
  saysOf: (item: Item) => readonly unknown[],
  rankOf: (item: Item) => number,
): readonly (readonly [Item, ...Item[]])[] {
  return [...Map.groupBy(items, (item) => JSON.stringify(saysOf(item))).values()]
    .flatMap(([first, ...more]): readonly [Item, ...Item[]][] => (first === undefined ? [] : [[first, ...more]]))
    .sort((left, right) => rankOf(left[0]) - rankOf(right[0]) || right.length - left.length);
}

/** Fleets with the same need: ten fleets with one failing endpoint are one task, not ten. */
export interface NeedGroup {
  readonly need: FleetNeed;
  readonly rows: readonly [FleetRow, ...FleetRow[]];
}

/** The most urgent first, then the largest. The reason of several fleets leaves out robots and servers. */
export function groupNeeds(rows: readonly FleetRow[]): readonly NeedGroup[] {
  const all = rows.flatMap((row) => row.needs.map((need) => ({ row, need })));
  const groups = groupsOf(
    all,
    ({ row, need: { reason, action } }) => [fleetState(row), firstClause(reason), action],
    ({ row }) => urgencyOf(row),
  );
  return groups.map(([{ row, need }, ...more]) => {
    const reason = more.length === 0 ? need.reason : `${firstClause(need.reason)}.`;
    return { need: { reason, action: need.action }, rows: [row, ...more.map((each) => each.row)] };
  });
}

/** Members in the same state for the same reason: forty robots that lack one camera are one task, not forty. */
export interface MemberGroup {
  readonly state: string;
  readonly tone: Tone;
  readonly reason: string | null;
  readonly members: readonly FleetMemberView[];
}

/** Members that need an action come first. */
const MEMBER_STATES: readonly string[] = ["blocked", "waiting", "ready", "active"];

/** Groups of members; further ones have those with a warning, and the last one those that are offline, unless they wait for that and are in a group already. */
export function memberGroups(members: readonly FleetMemberView[]): readonly MemberGroup[] {
  const groups = groupsOf(
    members,
    ({ state, reason }) => [state, reason],
    ({ state }) => MEMBER_STATES.indexOf(state),
  );
  const offline = members.filter(
    ({ status, waiting_for: waitingFor }) => status === "offline" && waitingFor !== "robot",
  );
  return [
    ...groups.map((group) => {
      const [first] = group;
      return { state: memberState(first), tone: toneOf(first.state), reason: first.reason, members: group };
    }),
    ...groupsOf(
      members.filter(({ warnings }) => warnings !== undefined),
      ({ warnings }) => [warnings],
      () => 0,
    ).map((group) => {
      return {
        state: "warning",
        tone: toneOf("degraded"),
        reason: group[0].warnings?.join(" ") ?? null,
        members: group,
      };
    }),
    ...(offline.length === 0
      ? []
      : [{ state: "offline", tone: toneOf("offline"), reason: "No heartbeats arrive.", members: offline }]),
  ];
}

/** On the wire, a robot that is offline or over the fleet's peak is `waiting` too. */
function memberState({ state, waiting_for: waitingFor }: FleetMemberView): string {
  if (waitingFor === "robot") return "offline";
  return waitingFor === "peak" ? OVER_THE_PEAK : state;
}

export const GENERATION_COLUMNS: readonly Column<FleetGenerationView>[] = [
  { name: "generation", show: ({ generation_id: id }) => id, from: "terminal" },
  { name: "model", show: ({ subject }) => linkTo("models", subject, null), weight: 2 },
  { name: "status", show: ({ status, blocker }) => ({ kind: "state", state: status, reason: blocker }) },
  { name: "asked for", show: ({ created_at: at }) => past(at) },
  { name: "active", show: ({ activated_at: at }) => past(at) },
];

type OperatingWindow = FleetDetails["operating_windows"][number];

export function windowState({ starts_at: startsAt, ends_at: endsAt }: OperatingWindow, nowMs: number) {
  if (Date.parse(endsAt) <= nowMs) return "past";
  return Date.parse(startsAt) <= nowMs ? "open now" : "to come";
}

/** Robots with the same answer of a preview: they lack the same, or would wait for the same endpoint. */
export interface FitGroup {
  /** `lacks`: cannot run the model. `waits`: can, but the endpoint in their region is not healthy. `runs`: can run it now. */
  readonly fit: "lacks" | "waits" | "runs";
  /** Null for `runs`. */
  readonly reason: string | null;
  readonly robots: readonly PreviewedRobot[];
}

/** The state in words of robots of a group, and its tone; the most urgent first. */
export const FIT_STATES = {
  lacks: { word: "cannot run it", tone: "blocked" },
  waits: { word: "would wait", tone: "degraded" },
  runs: { word: "can run it", tone: "ready" },
} as const satisfies Readonly<Record<FitGroup["fit"], { readonly word: string; readonly tone: Tone }>>;

/** Groups that cannot run the model first, larger groups first. Robots that were not checked form one group that runs. */
export function fitGroups(robots: readonly PreviewedRobot[]): readonly FitGroup[] {
  const rankOf = (robot: PreviewedRobot) => Object.keys(FIT_STATES).indexOf(fitOf(robot));
  return groupsOf(robots, ({ fits, reason, warnings }) => [fits, reason, warnings], rankOf).map((group) => {
    const [first] = group;
    return { fit: fitOf(first), reason: first.reason ?? first.warnings?.join(" ") ?? null, robots: group };
  });
}

function fitOf({ fits, reason }: PreviewedRobot): FitGroup["fit"] {
  if (fits === false) return "lacks";
  return reason === null ? "runs" : "waits";
}

/** `3 robots; 2 can run the model now, 1 once the endpoint answers`. */
export function fitText(groups: readonly FitGroup[]): string {
  const counts = { lacks: 0, waits: 0, runs: 0 };
  for (const { fit, robots } of groups) counts[fit] += robots.length;
  const { lacks, waits, runs } = counts;
  const total = counted(lacks + waits + runs, "robot");
  if (groups.every(({ robots }) => robots.every(({ fits }) => fits === null))) return total;
  if (lacks + waits === 0) return `${total}; ${runs === 1 ? "it" : "all"} can run the model`;
  return `${total}; ${grouped(runs)} can run the model${waits === 0 ? "" : ` now, ${grouped(waits)} once the endpoint answers`}`;
}

/** What an update of its model brings about. */
export function updateConsequences(row: FleetRow): readonly string[] {
  const { fleet } = row;
  const { name, update } = fleet;
  return [
    `This updates ${name}, which uses ${modelOf(fleet)}: ${countsText(robotCounts(row))}.`,
    ...(update ? [`It replaces the update to ${update.subject}.`] : []),
    keptMeanwhile(fleet),
  ];
}

function keptMeanwhile(fleet: FleetView): string {
  return `It uses ${modelOf(fleet)} until the new model is ready. If that never happens, it stays as it is.`;
}

/** What became of a requested update. */
export function updateOutcome(asked: FleetView, model: string, before: FleetView): string {
  const { name, update, active_model: activeModel } = asked;
  const now = modelOf(asked);
  if (update) {
    // The subject may be the new one already, and the active model may never have served.
    const serves = activeModel?.status === "active" ? `; ${activeModel.subject} serves until that is ready` : "";
    return `${name} is being updated to ${model}${serves}.`;
  }
  if (now !== modelOf(before)) return `${name} uses ${now} now.`;
  if (before.update) return `${name} keeps ${now}; the update to ${before.update.subject} is ended.`;
  return `${name} uses ${now} already; there is nothing to update.`;
}

/** The generation that a fleet goes back to: during an update the active one, else the one before it; null if there is none. */
export function earlierGeneration(
  { update, active_model: activeModel }: FleetView,
  { generations }: FleetDetails,
): FleetGenerationView | null {
  const at = generations.findIndex(({ generation_id: id }) => id === activeModel?.generation_id);
  const active = generations[at];
  if (active === undefined) return null;
  if (update) return active;
  const earlier = generations.slice(at + 1);
  const differs = (each: FleetGenerationView) => each.checkpoint_id !== active.checkpoint_id;
  return earlier.find((each) => each.activated_at !== null && differs(each)) ?? null;
}

/** The subject of a generation; its checkpoint where the model has another one by now. */
export function subjectOf(
  { subject, checkpoint_id: checkpointId }: FleetGenerationView,
  model: ModelView | null | undefined,
): string {
  return model?.default_checkpoint_id === checkpointId ? subject : checkpointId;
}

/** What going back to an earlier generation brings about. */
export function rollbackConsequences(
  fleet: FleetView,
  { subject, checkpoint_id: checkpointId }: FleetGenerationView,
): readonly string[] {
  const { name, update } = fleet;
  const model = `${subject} (${checkpointId})`;
  if (update) return [`This ends the update of ${name} to ${update.subject}. It keeps ${model}.`];
  return [`This rolls ${name} back from ${modelOf(fleet)} to ${model}, which it used before.`, keptMeanwhile(fleet)];
}

export function removeConsequences({ robots }: FleetView): string {
  const members =
    robots.registered === 1
      ? "Its robot and its deployment stay"
      : `Its ${counted(robots.registered, "robot")} and their deployments stay`;
  return `${members}, and no capacity is kept ready for them any more. The name is free for another fleet. A deleted fleet cannot be restored.`;
}

/** Who joins and who leaves a fleet, and how it is afterwards. */
export function memberChanges(
  { joining, leaving, registered, peak_active_robots: peak }: FleetMemberChanges,
  fleet: FleetView,
) {
  const groups = [
    { word: joining.length === 1 ? "joins" : "join", robots: joining },
    { word: leaving.length === 1 ? "leaves" : "leave", robots: leaving },
  ];
  const before = fleet.peak_active_robots;
  const active = peak === before ? "" : `, of which at most ${peak} may be active at once, instead of ${before}`;
  return {
    groups: groups
      .filter(({ robots }) => robots.length > 0)
      .map(({ word, robots }) => ({ title: `${counted(robots.length, "robot")} ${word}`, robots })),
    after: `${fleet.name} has ${counted(registered, "robot")} afterwards${active}.`,
  };
}
