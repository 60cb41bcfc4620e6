/**
 * Two computers that register one name in turn: each replaces what the other registered, and neither is told.
 *
 * A registration carries no identity of the computer, so this is judged from what a robot's registration changed to lately, and
 * from where. A person who takes back a calibration, once and from one computer, is not what is looked for.
 */

/** A registration that is other than the one before it. */
export interface Change {
  /** ISO 8601. */
  readonly at: string;
  /** A hash of everything that was registered. */
  readonly body: string;
  /** Of the client. */
  readonly address: string;
  /** The credential. */
  readonly actor: string;
}

/** `since`: when a second computer first came in between; `at`: when this was seen last. ISO 8601. */
export interface Contest {
  readonly since: string;
  readonly at: string;
}

/** What is kept of a robot to judge its next change by. */
export interface RecentChanges {
  /** Newest first. */
  readonly changes: readonly Change[];
  readonly contest: Contest | null;
}

/**
 * Agents ask once a day, give or take a tenth, whether the service still holds their registration, and register again if not. Two
 * of them replace each other that often, and a contest that was not seen for two days is over.
 */
export const CONTEST_WINDOW_MS = 2 * 86_400_000;
/** Among so many computers a contest of one name is found. */
export const CHANGES_KEPT = 8;
/** Nobody takes back a change of one computer so often within the window. */
const RETURNS_OF_ONE_SOURCE = 2;

export function noteChange({ changes: before, contest }: RecentChanges, change: Change): RecentChanges {
  const standing = currentContest(contest, Date.parse(change.at));
  // Of two registrations in one millisecond, the second may have changed nothing.
  if (before[0]?.body === change.body) return { changes: before, contest: standing };
  const recent = before.filter(({ at }) => isWithinWindow(at, Date.parse(change.at)));
  const changes = [change, ...recent].slice(0, CHANGES_KEPT);
  const disturbedAt = disturbance(changes);
  if (disturbedAt === null) return { changes, contest: standing };
  return { changes, contest: { since: standing?.since ?? disturbedAt, at: change.at } };
}

/** Null where there is none, or it is over. */
export function currentContest(contest: Contest | null, nowMs: number): Contest | null {
  return contest !== null && isWithinWindow(contest.at, nowMs) ? contest : null;
}

/** Where changes come from since a moment, newest first, each source once: of a contest, who takes part in it. */
export function sourcesSince(since: string, changes: readonly Change[]): readonly Change[] {
  const recent = changes.filter(({ at }) => Date.parse(at) >= Date.parse(since));
  return recent.filter((change, index) => !recent.slice(0, index).some((newer) => isSameSource(newer, change)));
}

/** When the first other computer replaced what the newest change restores; null where that is no contest. */
function disturbance([newest, ...earlier]: readonly Change[]): string | null {
  if (newest === undefined) return null;
  const origin = earlier.findIndex(({ body }) => body === newest.body);
  const between = earlier.slice(0, Math.max(0, origin));
  const first = between.at(-1);
  if (first === undefined) return null;
  const isRestored = isSameSource(earlier[origin], newest) && between.some((other) => !isSameSource(other, newest));
  // Computers behind one address that share a key cannot be told apart.
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

/** A clock that was far ahead for a while keeps nothing alive. */
function isWithinWindow(at: string, nowMs: number): boolean {
  return Math.abs(nowMs - Date.parse(at)) < CONTEST_WINDOW_MS;
}
