import type { Tables } from "../../kernel/store/tables.ts";
import { changedMembers, type RecordedRegistration, type RegistrationDetails } from "./queries.ts";

/**
 * Detects two computers that register the same robot name in turn: each replaces the other's registration, and neither gets an error.
 *
 * A registration does not identify the computer, so a contest is detected from the robot's last registrations and their sources. One
 * person who reverts a calibration once, from one computer, is no contest.
 */

/** A registration as far as a contest depends on it. */
interface Change extends Pick<RecordedRegistration, "at" | "actor"> {
  readonly details: Omit<RegistrationDetails, "name"> & { readonly address: string };
}

/** `since`: when another computer first replaced the registration; `at`: when the contest was last detected. ISO 8601. */
export interface Contest {
  readonly since: string;
  readonly at: string;
}

/**
 * Agents check once a day (±10 %) whether the service still has their registration, and register again if not. Two agents replace
 * each other that often, so a contest that was not detected for two days is over.
 */
export const CONTEST_WINDOW_MS = 2 * 86_400_000;
/** One computer alone does not revert changes this often within the window. */
const RETURNS_OF_ONE_SOURCE = 2;

/** The columns of a robot that hold the contest that was last detected. */
type ContestRow = Pick<Tables["robots"], "contested_since" | "contested_at">;

/** The contest of a robot's name; null if there is none or it is over. */
export function currentContest(
  { contested_since: since, contested_at: at }: ContestRow,
  nowMs: number,
): Contest | null {
  return since !== null && at !== null && isWithinWindow(at, nowMs) ? { since, at } : null;
}

/**
 * The contest that a registration shows; null if it shows none.
 *
 * @param earlier the robot's registrations before it, newest first.
 */
export function contestShownBy(newest: Change, earlier: readonly Change[], robot: ContestRow): Contest | null {
  const nowMs = Date.parse(newest.at);
  const recent = earlier.filter(({ at }) => isWithinWindow(at, nowMs));
  const disturbedAt = findDisturbance(newest, recent);
  return disturbedAt === null ? null : { since: currentContest(robot, nowMs)?.since ?? disturbedAt, at: newest.at };
}

/** The newest registration of each source since a time: the participants of a contest. @param registrations newest first. */
export function sourcesSince(since: string, registrations: readonly Change[]): readonly Change[] {
  const recent = registrations.filter(({ at }) => Date.parse(at) >= Date.parse(since));
  return recent.filter((one, index) => !recent.slice(0, index).some((newer) => isSameSource(newer, one)));
}

/** When another computer first replaced what the newest registration restores; null if that is no contest. */
function findDisturbance(newest: Change, earlier: readonly Change[]): string | null {
  const origin = earlier.findIndex((one) => registersTheSame(one, newest));
  const restored = earlier[origin];
  const between = earlier.slice(0, Math.max(0, origin));
  const first = between.at(-1);
  if (restored === undefined || first === undefined) return null;
  const isRestored = isSameSource(restored, newest) && between.some((other) => !isSameSource(other, newest));
  // Computers that share an address and a key cannot be distinguished; for them, only the number of reverts counts.
  return isRestored || countReturns([newest, ...earlier]) >= RETURNS_OF_ONE_SOURCE ? first.at : null;
}

/** How many of these registrations restored an earlier one. */
function countReturns(registrations: readonly Change[]): number {
  return registrations.filter((one, index) =>
    registrations.slice(index + 1).some((older) => registersTheSame(older, one)),
  ).length;
}

function isSameSource(one: Change, other: Change): boolean {
  return one.details.address === other.details.address && one.actor === other.actor;
}

function registersTheSame(one: Change, other: Change): boolean {
  return changedMembers(one.details, other.details).length === 0;
}

/** Times far in the future, from a clock that was wrong, are outside too. */
function isWithinWindow(at: string, nowMs: number): boolean {
  return Math.abs(nowMs - Date.parse(at)) < CONTEST_WINDOW_MS;
}
