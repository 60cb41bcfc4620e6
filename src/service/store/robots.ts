import type { Transaction } from "kysely";

import type { RobotSetup } from "../../api/robots.ts";
import { printJson } from "../json/print-json.ts";
import type { Reader } from "./store.ts";
import type { Tables } from "./tables.ts";

/** The columns a robot view is made of. */
const VIEW_COLUMNS = ["id", "name", "robot_type_id", "region", "created_at", "site", "labels"] as const;

export type RobotRow = Pick<Tables["robots"], (typeof VIEW_COLUMNS)[number]>;

/**
 * Registers a robot, or replaces the registration of that name: id and created_at stay, everything else is as sent.
 *
 * @param identity id and time of a robot that is new; the row tells by its id which one it is.
 */
export async function upsertRobot(
  transaction: Transaction<Tables>,
  organization_id: string,
  setup: RobotSetup,
  identity: { readonly id: string; readonly now: string },
): Promise<RobotRow> {
  const registration = {
    robot_type_id: setup.robot_type_id,
    region: setup.region,
    configuration_digest: setup.configuration_digest,
    site: setup.site ?? null,
    labels: printJson(setup.labels ?? {}),
    contract: (setup.contract ?? null) === null ? null : printJson(setup.contract),
    updated_at: identity.now,
  };
  return transaction
    .insertInto("robots")
    .values({ id: identity.id, organization_id, name: setup.name, created_at: identity.now, ...registration })
    .onConflict((conflict) => conflict.columns(["organization_id", "name"]).doUpdateSet(registration))
    .returning(VIEW_COLUMNS)
    .executeTakeFirstOrThrow();
}

/** All robots of an organization, oldest first. */
export function listRobots(reader: Reader, organization_id: string): Promise<RobotRow[]> {
  return reader
    .selectFrom("robots")
    .select(VIEW_COLUMNS)
    .where("organization_id", "=", organization_id)
    .orderBy("id")
    .execute();
}
