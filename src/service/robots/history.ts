/** A robot's registrations: the entries of the audit log that its setups and enrolments wrote. */
import * as z from "zod";
import { hash } from "node:crypto";
import { sql } from "kysely";

import { HISTORY_KEPT, REGISTRATION_MEMBERS } from "../../api/registrations.ts";
import { DIGEST_OF_NOTHING, eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { Registration } from "./robots.ts";

type Member = (typeof REGISTRATION_MEMBERS)[number];

const SHORT_MEMBERS = ["configuration_digest", "robot_type_id", "region", ...ROBOT_TEXT_NAMES] as const;

type Registered = Pick<Registration, "name" | "labels" | "contract" | (typeof SHORT_MEMBERS)[number]>;

/**
 * What the audit log stores of a registration: enough to see what changed from one entry to the next. Contracts are large, so that only their
 * hashes are stored; parts.ts keeps them apart.
 */
export function registrationDetails(registration: Registered): RegistrationDetails {
  const { name, labels, contract } = registration;
  return {
    name,
    ...eachOf(SHORT_MEMBERS, (member) => registration[member]),
    labels,
    labels_sha256: sha256(labels),
    contract_sha256: contract === null ? null : sha256(contract),
  };
}

export type RegistrationDetails = Readonly<Record<"name" | "labels" | DetailName, string | null>>;
type ShownDetails = Readonly<Record<DetailName, string | null>>;
type DetailName = (typeof SHORT_MEMBERS)[number] | "labels_sha256" | "contract_sha256";

function sha256(text: string): string {
  return hash("sha256", text, "base64url");
}

const detailsSchema = z.object({
  name: z.string().default(""),
  address: z.string(),
  /** Only of an enrolment. */
  approval_id: z.string().optional(),
  contested: z.boolean().default(false),
  configuration_digest: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  // Entries from before a text existed do not have it.
  ...eachOf(ROBOT_TEXT_NAMES, () => z.string().nullable().default(null)),
  /** JSON object; entries of earlier releases have the hash alone. */
  labels: z.string().nullable().default(null),
  labels_sha256: z.string(),
  contract_sha256: z.string().nullable(),
} satisfies Readonly<Record<DetailName | "name" | "address" | "contested" | "labels" | "approval_id", z.ZodType>>);

/** A registration in the audit log. */
export interface RecordedRegistration extends Pick<Tables["audit_log"], "id" | "at" | "actor"> {
  readonly details: z.output<typeof detailsSchema>;
}

const DETAIL_OF: Readonly<Record<Member, DetailName>> = {
  ...eachOf(SHORT_MEMBERS, (member) => member),
  labels: "labels_sha256",
  contract: "contract_sha256",
};

/** Among so many of a robot's last registrations, a contest of its name is detected. */
export const REGISTRATIONS_COMPARED = 8;

/** Exactly the condition of the index `audit_log_of_robots`: with another, the databases would not use it. */
const IS_REGISTRATION = sql<boolean>`action in ('robot.setup', 'robot.enroll', 'robot.replace_computer')`;

/** What entered a robot last, newest first: registrations, and enrolments, which may be none. */
export async function lastEntries(
  reader: Reader,
  organizationId: string,
  robotId: string,
  count: number,
): Promise<readonly RecordedRegistration[]> {
  const entries = await selectLast(reader, { organizationId, robotId, count });
  return entries.map(recordedOf);
}

function recordedOf({ id, at, actor, details }: EntryRow): RecordedRegistration {
  return { id, at, actor, details: detailsSchema.parse(JSON.parse(details)) };
}

type EntryRow = Pick<Tables["audit_log"], "id" | "at" | "actor" | "details">;

/** A registration with this id, of any robot of the organization; undefined if it is not kept (any more). */
export async function findRegistration(
  reader: Reader,
  organizationId: string,
  id: string,
): Promise<(RecordedRegistration & { readonly robotId: string }) | undefined> {
  const entry = await reader
    .selectFrom("audit_log")
    .select(["id", "at", "actor", "details", "subject_id"])
    .where("id", "=", id)
    .where("organization_id", "=", organizationId)
    .where(IS_REGISTRATION)
    .executeTakeFirst();
  return entry === undefined ? undefined : { ...recordedOf(entry), robotId: entry.subject_id };
}

/** False for an enrolment whose computer had not read its files: nothing is registered until its first setup. */
export function isRegistration({ details }: RecordedRegistration): boolean {
  return details.approval_id === undefined || details.configuration_digest !== DIGEST_OF_NOTHING;
}

/** The registration of the robot before this one; undefined if none is kept. */
export async function registrationBefore(
  reader: Reader,
  organizationId: string,
  { id, robotId }: Pick<RecordedRegistration, "id"> & { readonly robotId: string },
): Promise<(RecordedRegistration & { readonly robotId: string }) | undefined> {
  const entries = await reader
    .selectFrom("audit_log")
    .select(["id", "at", "actor", "details"])
    .where("organization_id", "=", organizationId)
    .where("subject_id", "=", robotId)
    .where(IS_REGISTRATION)
    .where("id", "<", id)
    .orderBy("id", "desc")
    // One of them may be an enrolment that registered nothing.
    .limit(2)
    .execute();
  const before = entries.map(recordedOf).find(isRegistration);
  return before === undefined ? undefined : { ...before, robotId };
}

/** The SHA-256 of the contract in the details of an entry, in hex; null without one. */
export function contractHashOf(details: string): string | null {
  const { contract_sha256: sha256 } = detailsSchema.parse(JSON.parse(details));
  return sha256 === null ? null : contentHashOf(sha256);
}

/** The hash of an entry of the audit log, base64url, as contents have it. */
export function contentHashOf(sha256: string): string {
  return Buffer.from(sha256, "base64url").toString("hex");
}

const selectLast = prepare<
  { readonly organizationId: string; readonly robotId: string; readonly count: number },
  EntryRow
>((database, parameter) =>
  database
    .selectFrom("audit_log")
    .select(["id", "at", "actor", "details"])
    .where("organization_id", "=", parameter("organizationId"))
    .where("subject_id", "=", parameter("robotId"))
    .where(IS_REGISTRATION)
    .orderBy("id", "desc")
    .limit(parameter("count")),
);

/** Deletes all but the newest registrations of a robot. */
export async function boundHistory(transaction: Transaction, robotId: string): Promise<void> {
  await deleteSurplus(transaction, { robotId });
}

/** So many at once, because stores of earlier versions have any number. */
const DELETED_AT_ONCE = 100;

const deleteSurplus = prepare<{ readonly robotId: string }, never>((database, parameter) =>
  database
    .deleteFrom("audit_log")
    .where("id", "in", (query) =>
      query
        .selectFrom("audit_log")
        .select("id")
        .where("subject_id", "=", parameter("robotId"))
        .where(IS_REGISTRATION)
        .orderBy("id", "desc")
        .limit(sql.lit(DELETED_AT_ONCE))
        .offset(sql.lit(HISTORY_KEPT)),
    ),
);

/** The members in which registrations differ. */
export function changedMembers(before: ShownDetails, after: ShownDetails): Member[] {
  return REGISTRATION_MEMBERS.filter((member) => before[DETAIL_OF[member]] !== after[DETAIL_OF[member]]);
}

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
