/** A robot's registrations: the entries of the audit log that its setups and enrolments wrote. */
import { hash } from "node:crypto";

import { sql } from "kysely";
import * as z from "zod";

import { HISTORY_KEPT, REGISTRATION_MEMBERS, type RegistrationRecord } from "../../../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../../../api/robot-texts.ts";
import { DIGEST_OF_NOTHING } from "../../../api/words/enrolments.ts";
import { nameActors } from "../../audit/index.ts";
import { prepare } from "../../kernel/store/prepared.ts";
import type { Reader, Transaction } from "../../kernel/store/store.ts";
import type { Tables } from "../../kernel/store/tables.ts";
import type { Registration } from "../queries.ts";

type Member = (typeof REGISTRATION_MEMBERS)[number];

const SHORT_MEMBERS = ["configuration_digest", "robot_type_id", "region", ...ROBOT_TEXT_NAMES] as const;

type Registered = Pick<Registration, "name" | "labels" | "contract" | (typeof SHORT_MEMBERS)[number]>;

/**
 * What the audit log stores of a registration: enough to see which members changed from one entry to the next. Labels and contracts
 * are large, so only their hashes are stored.
 */
export function registrationDetails(registration: Registered): RegistrationDetails {
  const { name, labels, contract } = registration;
  return {
    name,
    ...eachOf(SHORT_MEMBERS, (member) => registration[member]),
    labels_sha256: sha256(labels),
    contract_sha256: contract === null ? null : sha256(contract),
  };
}

export type RegistrationDetails = Readonly<Record<"name" | DetailName, string | null>>;
type ShownDetails = Readonly<Record<DetailName, string | null>>;
type DetailName = (typeof SHORT_MEMBERS)[number] | "labels_sha256" | "contract_sha256";

function sha256(text: string): string {
  return hash("sha256", text, "base64url");
}

const detailsSchema = z.object({
  address: z.string(),
  /** Only of an enrolment. */
  approval_id: z.string().optional(),
  contested: z.boolean().default(false),
  configuration_digest: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  // Entries from before a text existed do not have it.
  ...eachOf(ROBOT_TEXT_NAMES, () => z.string().nullable().default(null)),
  labels_sha256: z.string(),
  contract_sha256: z.string().nullable(),
} satisfies Readonly<Record<DetailName | "address" | "contested" | "approval_id", z.ZodType>>);

/** A registration in the audit log. */
export interface RecordedRegistration extends Pick<Tables["audit_log"], "at" | "actor"> {
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
  return entries.map(({ at, actor, details }) => ({ at, actor, details: detailsSchema.parse(JSON.parse(details)) }));
}

/** False for an enrolment whose computer had not read its files: nothing is registered until its first setup. */
export function isRegistration({ details }: RecordedRegistration): boolean {
  return details.approval_id === undefined || details.configuration_digest !== DIGEST_OF_NOTHING;
}

const selectLast = prepare<
  { readonly organizationId: string; readonly robotId: string; readonly count: number },
  Pick<Tables["audit_log"], "at" | "actor" | "details">
>((database, parameter) =>
  database
    .selectFrom("audit_log")
    .select(["at", "actor", "details"])
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

/** A robot's registrations for clients, newest first. */
export async function readRobotHistory(
  reader: Reader,
  organizationId: string,
  robotId: string,
): Promise<readonly RegistrationRecord[]> {
  const registrations = (await lastEntries(reader, organizationId, robotId, HISTORY_KEPT)).filter(isRegistration);
  const actors = registrations.map(({ actor }) => actor);
  const names = await nameActors(reader, organizationId, actors);
  return registrations.map((registration, index) =>
    recordOf(registration, registrations[index + 1] ?? null, names.get(registration.actor) ?? null),
  );
}

function recordOf(
  { at, actor, details }: RecordedRegistration,
  before: RecordedRegistration | null,
  label: string | null,
): RegistrationRecord {
  const { configuration_digest: configurationDigest, robot_type_id: robotTypeId, region, address, contested } = details;
  return {
    at,
    configuration_digest: configurationDigest,
    changed: before === null ? null : changedMembers(before.details, details),
    robot_type_id: robotTypeId,
    region,
    ...eachOf(ROBOT_TEXT_NAMES, (text) => details[text]),
    actor: { id: actor, label },
    address,
    contested,
  };
}

/** The members in which registrations differ. */
export function changedMembers(before: ShownDetails, after: ShownDetails): Member[] {
  return REGISTRATION_MEMBERS.filter((member) => before[DETAIL_OF[member]] !== after[DETAIL_OF[member]]);
}
