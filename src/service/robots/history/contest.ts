import * as z from "zod";

import type { RegistrationView } from "../../../api/registrations.ts";
import { nameActors } from "../../kernel/auth/actor-names.ts";
import { prepare } from "../../kernel/store/prepared.ts";
import type { Reader, Transaction } from "../../kernel/store/store.ts";
import type { Tables } from "../../kernel/store/tables.ts";

/**
 * Detects two computers that register the same robot name in turn: each replaces the other's registration, and neither gets an error.
 *
 * A registration does not identify the computer, so a contest is detected from the recent changes of the registration and their
 * sources. One person who reverts a calibration once, from one computer, is no contest.
 */

/** A registration that differs from the previous one. */
export interface Change {
  /** ISO 8601. */
  readonly at: string;
  /** A hash of everything that was registered. */
  readonly body: string;
  readonly address: string;
  /** Id of the credential. */
  readonly actor: string;
}

/** `since`: when another computer first replaced the registration; `at`: when the contest was last detected. ISO 8601. */
export interface Contest {
  readonly since: string;
  readonly at: string;
}

/** What the store keeps of a robot to evaluate its next change. */
export interface RecentChanges {
  /** Newest first. */
  readonly changes: readonly Change[];
  readonly contest: Contest | null;
}

/**
 * Agents check once a day (±10 %) whether the service still has their registration, and register again if not. Two agents replace
 * each other that often, so a contest that was not detected for two days is over.
 */
export const CONTEST_WINDOW_MS = 2 * 86_400_000;
/** Bounds the number of computers among which a contest is detected. */
export const CHANGES_KEPT = 8;
/** One computer alone does not revert changes this often within the window. */
const RETURNS_OF_ONE_SOURCE = 2;

export function noteChange({ changes: before, contest }: RecentChanges, change: Change): RecentChanges {
  const standing = currentContest(contest, Date.parse(change.at));
  // If two registrations have the same millisecond, the second may have changed nothing.
  if (before[0]?.body === change.body) return { changes: before, contest: standing };
  const recent = before.filter(({ at }) => isWithinWindow(at, Date.parse(change.at)));
  const changes = [change, ...recent].slice(0, CHANGES_KEPT);
  const disturbedAt = disturbance(changes);
  if (disturbedAt === null) return { changes, contest: standing };
  return { changes, contest: { since: standing?.since ?? disturbedAt, at: change.at } };
}

/** Null if there is none or it is over. */
export function currentContest(contest: Contest | null, nowMs: number): Contest | null {
  return contest !== null && isWithinWindow(contest.at, nowMs) ? contest : null;
}

/** The newest change of each source since a time, newest first: the participants of a contest. */
export function sourcesSince(since: string, changes: readonly Change[]): readonly Change[] {
  const recent = changes.filter(({ at }) => Date.parse(at) >= Date.parse(since));
  return recent.filter((change, index) => !recent.slice(0, index).some((newer) => isSameSource(newer, change)));
}

/** When another computer first replaced what the newest change restores; null if that is no contest. */
function disturbance([newest, ...earlier]: readonly Change[]): string | null {
  if (newest === undefined) return null;
  const origin = earlier.findIndex(({ body }) => body === newest.body);
  const between = earlier.slice(0, Math.max(0, origin));
  const first = between.at(-1);
  if (first === undefined) return null;
  const isRestored = isSameSource(earlier[origin], newest) && between.some((other) => !isSameSource(other, newest));
  // Computers that share an address and a key cannot be distinguished; for them, only the number of reverts counts.
  return isRestored || countReturns([newest, ...earlier]) >= RETURNS_OF_ONE_SOURCE ? first.at : null;
}

/** How many of these changes restored an earlier one. */
function countReturns(changes: readonly Change[]): number {
  const isReturn = ({ body }: Change, index: number) => changes.slice(index + 1).some((older) => older.body === body);
  return changes.filter(isReturn).length;
}

function isSameSource(one: Change | undefined, other: Change): boolean {
  return one?.address === other.address && one.actor === other.actor;
}

/** Times far in the future, from a clock that was wrong, are outside too. */
function isWithinWindow(at: string, nowMs: number): boolean {
  return Math.abs(nowMs - Date.parse(at)) < CONTEST_WINDOW_MS;
}

/** The columns of a robot that hold its recent changes. */
export type RecentChangesRow = Pick<Tables["robots"], "recent_changes" | "contested_since" | "contested_at">;

const changesSchema = z.array(z.object({ at: z.string(), body: z.string(), address: z.string(), actor: z.string() }));

/** The last detected contest, which may be over (see `currentContest`). */
export function contestOf({
  contested_since: since,
  contested_at: at,
}: Pick<RecentChangesRow, "contested_since" | "contested_at">): Contest | null {
  return since === null || at === null ? null : { since, at };
}

/** The clients that register a contested name, newest first. */
export async function readSources(
  reader: Reader,
  organizationId: string,
  { recent_changes: recentChanges }: Pick<RecentChangesRow, "recent_changes">,
  since: string,
): Promise<RegistrationView["contested_from"]> {
  const sources = sourcesSince(since, readChanges(recentChanges));
  const actors = sources.map(({ actor }) => actor);
  const names = await nameActors(reader, organizationId, actors);
  return sources.map(({ address, actor: id }) => ({ address, actor: { id, label: names.get(id) ?? null } }));
}

function readChanges(recentChanges: string): RecentChanges["changes"] {
  return changesSchema.parse(JSON.parse(recentChanges));
}

/** Records a change of a robot's registration. Not called for registrations that change nothing, which most do. */
export async function writeChange(
  transaction: Transaction,
  { id, ...before }: RecentChangesRow & Pick<Tables["robots"], "id">,
  change: Change,
): Promise<RecentChanges> {
  const recent = noteChange({ changes: readChanges(before.recent_changes), contest: contestOf(before) }, change);
  const { since = null, at = null } = recent.contest ?? {};
  const recentChanges = JSON.stringify(recent.changes);
  await update(transaction, { id, recent_changes: recentChanges, contested_since: since, contested_at: at });
  return recent;
}

const update = prepare<RecentChangesRow & Pick<Tables["robots"], "id">, never>((database, parameter) =>
  database
    .updateTable("robots")
    .set({
      recent_changes: parameter("recent_changes"),
      contested_since: parameter("contested_since"),
      contested_at: parameter("contested_at"),
    })
    .where("id", "=", parameter("id")),
);
