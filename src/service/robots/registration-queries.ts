import { ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import { inRange } from "../kernel/lists/page-range.ts";
import type { PageRange } from "../kernel/lists/page-range.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/** A robot's last registration without its contract, which may be large. */
export type RegistrationRow = Pick<Tables["robots"], (typeof COLUMNS)[number]>;

const COLUMNS = [
  "id",
  "name",
  "configuration_digest",
  "changed_at",
  "updated_at",
  "contested_since",
  "contested_at",
] as const;

/** The last registrations of an organization's robots, oldest robot first. */
export function listRegistrations(
  reader: Reader,
  organizationId: string,
  range: PageRange,
): Promise<RegistrationRow[]> {
  const query = reader
    .selectFrom("robots")
    .select(COLUMNS)
    .where("organization_id", "=", organizationId)
    .where("removed_at", "is", null);
  return inRange(query, "id", range).execute();
}

/** One robot's last registration; `labels` and `contract` are JSON texts. */
export type WholeRegistrationRow = RegistrationRow & Pick<Tables["robots"], (typeof MORE_COLUMNS)[number]>;

const MORE_COLUMNS = ["robot_type_id", "region", ...ROBOT_TEXT_NAMES, "labels", "contract", "recent_changes"] as const;

export function findRegistration(
  reader: Reader,
  organizationId: string,
  robotId: string,
): Promise<WholeRegistrationRow | undefined> {
  return reader
    .selectFrom("robots")
    .select([...COLUMNS, ...MORE_COLUMNS])
    .where("organization_id", "=", organizationId)
    .where("id", "=", robotId)
    .executeTakeFirst();
}
