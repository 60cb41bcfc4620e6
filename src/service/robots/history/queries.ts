import { hash } from "node:crypto";

import { sql } from "kysely";
import * as z from "zod";

import { REGISTRATION_MEMBERS, type RegistrationRecord } from "../../../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../../../api/robot-texts.ts";
import { DIGEST_OF_NOTHING } from "../../../api/words/enrolments.ts";
import { nameActors } from "../../kernel/auth/actor-names.ts";
import type { Reader } from "../../kernel/store/store.ts";
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

/** Equal exactly for registrations that are equal in every member. */
export function registrationHash(details: RegistrationDetails): string {
  return sha256(JSON.stringify(details));
}

export type RegistrationDetails = Readonly<Record<"name" | DetailName, string | null>>;
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

type ReadDetails = z.output<typeof detailsSchema>;
type ShownDetails = Readonly<Record<DetailName, string | null>>;

const DETAIL_OF: Readonly<Record<Member, DetailName>> = {
  ...eachOf(SHORT_MEMBERS, (member) => member),
  labels: "labels_sha256",
  contract: "contract_sha256",
};

/** False for an enrolment whose computer had not read its files: nothing is registered until its first setup. */
function isRegistration({ approval_id: approvalId, configuration_digest: digest }: ReadDetails): boolean {
  return approvalId === undefined || digest !== DIGEST_OF_NOTHING;
}

/** The registration before: `first` if there was none, null if its audit entry is gone. */
export async function registrationBefore(
  reader: Reader,
  auditId: string | null,
): Promise<ReadDetails | "first" | null> {
  if (auditId === null) return null;
  const entry = await reader.selectFrom("audit_log").select("details").where("id", "=", auditId).executeTakeFirst();
  const details = entry === undefined ? undefined : detailsSchema.safeParse(JSON.parse(entry.details)).data;
  if (details === undefined) return null;
  return isRegistration(details) ? details : "first";
}

/** A robot's registrations that the audit log still has, newest first, at most `count`. */
export async function readRobotHistory(
  reader: Reader,
  organizationId: string,
  robotId: string,
  count: number,
): Promise<readonly RegistrationRecord[]> {
  const rows = await reader
    .withRecursive("history", (query) =>
      query
        .selectFrom("robots")
        .innerJoin("audit_log", "audit_log.id", "robots.audit_id")
        .select(["audit_log.previous_id", "at", "actor", "details", sql<number>`1`.as("place")])
        .where("robots.organization_id", "=", organizationId)
        .where("robots.id", "=", robotId)
        .unionAll(
          query
            .selectFrom("history")
            .innerJoin("audit_log", "audit_log.id", "history.previous_id")
            .select(["audit_log.previous_id", "audit_log.at", "audit_log.actor", "audit_log.details"])
            .select(({ eb }) => eb("place", "+", 1).as("place"))
            // One more, to see what changed with the oldest.
            .where("place", "<=", count),
        ),
    )
    .selectFrom("history")
    .select(["at", "actor", "details"])
    .orderBy("place")
    .execute();
  const actors = rows.map(({ actor }) => actor);
  const names = await nameActors(reader, organizationId, actors);
  const records = rows
    .map(({ at, actor: id, details }) => {
      return { at, actor: { id, label: names.get(id) ?? null }, details: detailsSchema.parse(JSON.parse(details)) };
    })
    .filter(({ details }) => isRegistration(details));
  return records.slice(0, count).map((record, index) => recordOf(record, records[index + 1]?.details));
}

interface ReadRecord extends Pick<RegistrationRecord, "at" | "actor"> {
  readonly details: ReadDetails;
}

function recordOf({ at, actor, details }: ReadRecord, before: ReadDetails | undefined): RegistrationRecord {
  const { configuration_digest: configurationDigest, robot_type_id: robotTypeId, region, address, contested } = details;
  return {
    at,
    configuration_digest: configurationDigest,
    changed: changedMembers(before, details),
    robot_type_id: robotTypeId,
    region,
    ...eachOf(ROBOT_TEXT_NAMES, (text) => details[text]),
    actor,
    address,
    contested,
  };
}

/** The members in which registrations differ; null if the previous one is missing. */
export function changedMembers(before: ShownDetails | null | undefined, after: ShownDetails): Member[] | null {
  if (before === undefined || before === null) return null;
  return REGISTRATION_MEMBERS.filter((member) => before[DETAIL_OF[member]] !== after[DETAIL_OF[member]]);
}
