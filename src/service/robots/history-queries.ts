import { hash } from "node:crypto";

import { sql } from "kysely";
import * as z from "zod";

import { REGISTRATION_MEMBERS } from "../../api/registrations.ts";
import type { RegistrationRecord } from "../../api/registrations.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Registration } from "./queries.ts";

type Member = (typeof REGISTRATION_MEMBERS)[number];

/**
 * What the audit log stores of a registration: enough to see which members changed from one entry to the next. Labels and contracts
 * are large, so only their hashes are stored.
 */
export function registrationDetails(registration: Registration): RegistrationDetails {
  const { name, region, site, labels, contract } = registration;
  return {
    name,
    configuration_digest: registration.configuration_digest,
    robot_type_id: registration.robot_type_id,
    region,
    site,
    labels_sha256: sha256(labels),
    contract_sha256: contract === null ? null : sha256(contract),
  };
}

/** Equal exactly for registrations that are equal in every member. */
export function registrationHash(details: RegistrationDetails): string {
  return sha256(JSON.stringify(details));
}

export type RegistrationDetails = Readonly<Record<"name" | DetailName, string | null>>;
type DetailName = Exclude<Member, "labels" | "contract"> | "labels_sha256" | "contract_sha256";

function sha256(text: string): string {
  return hash("sha256", text, "base64url");
}

const detailsSchema = z.object({
  address: z.string(),
  contested: z.boolean().default(false),
  configuration_digest: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  site: z.string().nullable(),
  labels_sha256: z.string(),
  contract_sha256: z.string().nullable(),
} satisfies Readonly<Record<DetailName | "address" | "contested", z.ZodType>>);

type ReadDetails = z.output<typeof detailsSchema>;

const DETAIL_OF: Readonly<Record<Member, DetailName>> = {
  configuration_digest: "configuration_digest",
  robot_type_id: "robot_type_id",
  region: "region",
  site: "site",
  labels: "labels_sha256",
  contract: "contract_sha256",
};

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
    .leftJoin("api_keys", (join) =>
      join.onRef("api_keys.id", "=", "actor").on("api_keys.organization_id", "=", organizationId),
    )
    .select(["at", "actor", "details", "label"])
    .orderBy("place")
    .execute();
  const records = rows.map(({ at, actor, label, details }) => {
    return { at, actor: { id: actor, label }, details: detailsSchema.parse(JSON.parse(details)) };
  });
  return records.slice(0, count).map(({ at, actor, details }, index) => {
    const { region, site, address, contested } = details;
    const changed = changedMembers(records[index + 1]?.details, details);
    return {
      at,
      configuration_digest: details.configuration_digest,
      changed,
      robot_type_id: details.robot_type_id,
      region,
      site,
      actor,
      address,
      contested,
    };
  });
}

/** Null if the previous entry is missing. */
function changedMembers(before: ReadDetails | undefined, after: ReadDetails): Member[] | null {
  if (before === undefined) return null;
  return REGISTRATION_MEMBERS.filter((member) => before[DETAIL_OF[member]] !== after[DETAIL_OF[member]]);
}
