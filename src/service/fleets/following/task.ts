import type { AuditAction } from "../../../api/wire/audit-actions.ts";
import { isoNow } from "../../../platform/clock.ts";
import { bringProbesForward } from "../../endpoints/index.ts";
import type { OperationContext } from "../../kernel/operation.ts";
import { auditAll, type AuditEntry, type Authorship } from "../../kernel/store/audit.ts";
import type { Transaction } from "../../kernel/store/store.ts";
import type { Tables } from "../../kernel/store/tables.ts";
import { createFailingItems } from "../../kernel/tasks/failing-items.ts";
import type { Task } from "../../kernel/tasks/task.ts";
import { type HistoryBudget, requestFleetCheck } from "../../robots/index.ts";
import {
  addMembers,
  checkpointsOf,
  CHECKS_AT_A_TIME,
  countMembers,
  findDrift,
  type Following,
  listChecks,
  listFollowing,
  loadCandidates,
  loadMemberships,
  lockFollowing,
  removeMembers,
  setLeftOut,
  takeChecks,
} from "./queries.ts";
import { type Candidate, mismatch, type Move, movesOf } from "./rules.ts";

const NAME = "follow-selectors";
/** Robots compared in one transaction: each may join or leave as many fleets as an organization has that follow. */
const ROBOTS_AT_A_TIME = 25;
/** A bulk of registrations must not be slowed by its checks. */
const REST_RATIO = 2;

type Check = Tables["fleet_checks"];

/** What one transaction does. */
interface Part {
  /** Removed with it. */
  readonly checks: readonly Check[];
  /** Robots of a search, with its check; null for the robots of `checks`. */
  readonly found: ReadonlyMap<string, Check> | null;
  /** A fleet whose search begins: who is left out is found again. */
  readonly searched: string | null;
}

/** How a fleet's members change. */
interface Moved {
  readonly fleet: Following;
  readonly moves: readonly Move[];
}

type Entry = AuditEntry & { readonly author: Authorship };

interface FollowContext extends Pick<OperationContext, "store" | "newId" | "machine" | "nudge"> {
  /** Whoever registers a robot in a loop pays for the entries of the fleets that it joins and leaves. */
  readonly history: Pick<HistoryBudget, "spend">;
}

/** Has robots join and leave the fleets that follow their selectors, as checks ask for it. */
export function createFollowSelectors(
  { store, newId, machine, nudge, history }: FollowContext,
  intervalMs: number,
): Task {
  const failing = createFailingItems(NAME, machine.log);

  async function settle(organizationId: string, checks: readonly Check[]): Promise<void> {
    // One that begins to follow later leaves a check of its own.
    const fleets = await listFollowing(store.reader, organizationId);
    if (fleets.length === 0) {
      await store.write((transaction) => takeChecks(transaction, checks));
      return;
    }
    const byId = new Map(fleets.map((fleet) => [fleet.id, fleet]));
    const ofRobots = checks.filter(({ subject_id: id }) => !byId.has(id));
    for (const some of partsOf(ofRobots)) {
      if (!(await run(organizationId, { checks: some, found: null, searched: null }))) return;
    }
    for (const [id, ofFleet] of Map.groupBy(checks, (check) => check.subject_id)) {
      const fleet = byId.get(id);
      const [check] = ofFleet;
      if (fleet === undefined || check === undefined) continue;
      const robots = await findDrift(store.reader, organizationId, fleet);
      const parts = robots.length === 0 ? [[]] : partsOf(robots);
      for (const [index, some] of parts.entries()) {
        const part = {
          checks: index === parts.length - 1 ? ofFleet : [],
          found: new Map(some.map((robotId) => [robotId, check])),
          searched: index === 0 ? fleet.id : null,
        };
        if (!(await run(organizationId, part))) return;
      }
    }
  }

  /** @returns false if another replica does the same. */
  async function run(organizationId: string, part: Part): Promise<boolean> {
    const compared = await store.write(async (transaction) => {
      const fleets = await lockFollowing(transaction, organizationId);
      return fleets === null ? null : compare(transaction, organizationId, fleets, part);
    });
    if (compared === null) return false;
    const { moved, entries } = compared;
    for (const { author, details } of entries) {
      history.spend({ organizationId, keyId: author.actor }, Buffer.byteLength(JSON.stringify(details)));
    }
    for (const { fleet, moves } of moved) {
      const count = (wanted: Move["change"]) => moves.filter(({ change }) => change === wanted).length;
      const counts = { joined: count("joined"), left: count("left"), left_out: count("left_out") };
      machine.log.info("fleet_members_changed", { fleet_id: fleet.id, ...counts });
    }
    if (moved.length > 0) nudge();
    return true;
  }

  async function compare(
    transaction: Transaction,
    organizationId: string,
    fleets: readonly Following[],
    { checks, found, searched }: Part,
  ): Promise<{ readonly moved: readonly Moved[]; readonly entries: readonly Entry[] }> {
    const taken = await takeChecks(transaction, checks);
    if (searched !== null) await setLeftOut(transaction, searched, null);
    const causes = found ?? new Map(taken.map((check) => [check.subject_id, check]));
    const ids = [...causes.keys()];
    if (ids.length === 0) return { moved: [], entries: [] };
    const robots = await loadCandidates(transaction, organizationId, ids);
    const moved = await movesOfAll(transaction, fleets, robots);
    const entries = await apply(transaction, organizationId, moved, causes);
    for (const fleet of fleets) {
      if (fleet.leftOutId === null || fleet.id === searched) continue;
      const cause = causes.get(freedBy(fleet, robots, moved) ?? "");
      if (cause === undefined) continue;
      const author = { auditId: newId("aud"), actor: cause.actor, requestId: cause.request_id };
      await requestFleetCheck(transaction, author, organizationId, fleet.id);
    }
    return { moved, entries };
  }

  async function apply(
    transaction: Transaction,
    organizationId: string,
    moved: readonly Moved[],
    causes: ReadonlyMap<string, Check>,
  ): Promise<readonly Entry[]> {
    const now = isoNow(machine.clock);
    const all = moved.flatMap(({ fleet, moves }) => moves.map((move) => ({ ...move, fleetId: fleet.id })));
    const rowsOf = (wanted: Move["change"]) =>
      all.flatMap(({ fleetId, robot, change }) =>
        change === wanted ? [{ fleet_id: fleetId, robot_id: robot.id }] : [],
      );
    const joined = rowsOf("joined");
    await addMembers(transaction, joined);
    await removeMembers(transaction, rowsOf("left"));
    for (const [fleetId, [first]] of Map.groupBy(rowsOf("left_out"), ({ fleet_id: fleetId }) => fleetId)) {
      if (first !== undefined) await setLeftOut(transaction, fleetId, first.robot_id);
    }
    const entries = all.flatMap(({ fleetId, robot, change, reason }): Entry[] => {
      const cause = causes.get(robot.id);
      // Robots that a search leaves out were told when they were left out first.
      if (cause === undefined || (change === "left_out" && cause.subject_id !== robot.id)) return [];
      const by = { actor: cause.actor, requestId: cause.request_id };
      const author = { auditId: newId("aud"), at: now, organizationId, ...by };
      const details = { robot_id: robot.id, robot: robot.name, reason };
      return [{ author, action: ACTIONS[change], subjectId: fleetId, details }];
    });
    await auditAll(transaction, entries);
    if (joined.length === 0) return entries;
    const filled = [...new Set(joined.map(({ fleet_id: fleetId }) => fleetId))];
    for (const checkpointId of await checkpointsOf(transaction, filled)) {
      await bringProbesForward(transaction, checkpointId, now);
    }
    return entries;
  }

  return {
    name: NAME,
    intervalMs,
    restRatio: REST_RATIO,
    async run(signal) {
      for (let after = ""; !signal.aborted;) {
        const checks = await listChecks(store.reader, after);
        for (const [organizationId, some] of Map.groupBy(checks, (check) => check.organization_id)) {
          if (!signal.aborted) await failing.attempt(organizationId, () => settle(organizationId, some));
        }
        if (checks.length < CHECKS_AT_A_TIME) return;
        after = checks.at(-1)?.id ?? "";
      }
    },
  };
}

const ACTIONS = {
  joined: "fleet.join",
  left: "fleet.leave",
  left_out: "fleet.leave_out",
} as const satisfies Readonly<Record<Move["change"], AuditAction>>;

async function movesOfAll(
  transaction: Transaction,
  fleets: readonly Following[],
  robots: readonly Candidate[],
): Promise<readonly Moved[]> {
  const memberships = await loadMemberships(
    transaction,
    robots.map(({ id }) => id),
  );
  const membersOf = ({ id }: Following) => memberships.get(id) ?? new Set();
  const growing = fleets.filter((fleet) =>
    robots.some((robot) => !membersOf(fleet).has(robot.id) && mismatch(robot, fleet.selector) === null),
  );
  const growingIds = growing.map(({ id }) => id);
  const counts = growing.length === 0 ? new Map<string, number>() : await countMembers(transaction, growingIds);
  return fleets.flatMap((fleet) => {
    const moves = movesOf(fleet.selector, robots, membersOf(fleet), counts.get(fleet.id) ?? 0);
    return moves.length === 0 ? [] : [{ fleet, moves }];
  });
}

/** The robot that gives a fleet with robots left out a reason to look for them again: it left, or is left out no longer. */
function freedBy(
  { id, selector, leftOutId }: Following,
  robots: readonly Candidate[],
  moved: readonly Moved[],
): string | undefined {
  const moves = moved.find(({ fleet }) => fleet.id === id)?.moves ?? [];
  const left = moves.find(({ change }) => change === "left")?.robot;
  return (left ?? robots.find((robot) => robot.id === leftOutId && mismatch(robot, selector) !== null))?.id;
}

function partsOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / ROBOTS_AT_A_TIME) }, (_, index) =>
    items.slice(index * ROBOTS_AT_A_TIME, (index + 1) * ROBOTS_AT_A_TIME),
  );
}
