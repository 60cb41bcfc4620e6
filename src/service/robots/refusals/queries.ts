import { REFUSALS_SHOWN } from "../../../api/refusals.ts";
import { nameActors } from "../../kernel/auth/actor-names.ts";
import type { Reader, Transaction } from "../../kernel/store/store.ts";
import type { Tables } from "../../kernel/store/tables.ts";
import { findRobot } from "../queries.ts";

export type RefusalRow = Tables["refusals"];

/** Rows kept per robot, and for all requests without a robot name together. */
export const REFUSALS_OF_ROBOT_MAXIMUM = 100;

/** Adds a refusal to the entry with the same key, or inserts one. */
export async function noteRefusal(transaction: Transaction, refusal: RefusalRow): Promise<void> {
  await transaction
    .insertInto("refusals")
    .values(refusal)
    .onConflict((conflict) =>
      conflict.columns(["organization_id", "robot", "status", "actor", "address"]).doUpdateSet(({ ref, eb }) => ({
        detail: ref("excluded.detail"),
        request_id: ref("excluded.request_id"),
        last_at: ref("excluded.last_at"),
        count: eb("refusals.count", "+", ref("excluded.count")),
      })),
    )
    .execute();
}

/** Deletes all but the newest refusals of an organization and of each robot. */
export async function boundRefusals(transaction: Transaction, organizationId: string): Promise<void> {
  const ranked = transaction
    .selectFrom("refusals")
    .select("id")
    .select(({ fn }) => [
      fn
        .agg<number>("row_number")
        .over((over) => over.orderBy("last_at", "desc").orderBy("id", "desc"))
        .as("place"),
      fn
        .agg<number>("row_number")
        .over((over) => over.partitionBy("robot").orderBy("last_at", "desc").orderBy("id", "desc"))
        .as("robot_place"),
    ])
    .where("organization_id", "=", organizationId);
  await transaction
    .deleteFrom("refusals")
    .where("id", "in", (query) =>
      query
        .selectFrom(ranked.as("ranked"))
        .select("id")
        .where((where) =>
          where.or([where("place", ">", REFUSALS_SHOWN.maximum), where("robot_place", ">", REFUSALS_OF_ROBOT_MAXIMUM)]),
        ),
    )
    .execute();
}

/** Deletes refusals that last happened before a time. @param before ISO 8601. */
export async function pruneRefusals(transaction: Transaction, before: string): Promise<void> {
  await transaction.deleteFrom("refusals").where("last_at", "<", before).execute();
}

/** A row with the name of the actor. */
export type LabelledRefusal = RefusalRow & { readonly label: string | null };

/**
 * An organization's refused registrations, newest first.
 *
 * @param robot a name or an id. Selects the refusals of this robot, and those without a robot name that were sent with the credential
 * of its last registration.
 */
export async function listRefusals(
  reader: Reader,
  organizationId: string,
  robot: string | undefined,
): Promise<readonly LabelledRefusal[]> {
  let query = reader
    .selectFrom("refusals")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .orderBy("last_at", "desc")
    .orderBy("id", "desc")
    .limit(REFUSALS_SHOWN.maximum);
  if (robot !== undefined) {
    const { name, actor } = await findRegistrant(reader, organizationId, robot);
    query = query.where((where) =>
      where.or([
        where("robot", "=", name),
        where.and([where("robot", "=", UNKNOWN_ROBOT), where("actor", "=", actor)]),
      ]),
    );
  }
  const rows = await query.execute();
  const actors = rows.map((row) => row.actor);
  const names = await nameActors(reader, organizationId, actors);
  return rows.map((row) => Object.assign(row, { label: names.get(row.actor) ?? null }));
}

/** Stands for the name if the request was refused before its body was read. */
export const UNKNOWN_ROBOT = "";

interface Registrant {
  readonly name: string;
  /** Credential of its last registration. */
  readonly actor: string;
}

/** A refused robot may never have registered: then `robot` is taken for its name. */
async function findRegistrant(reader: Reader, organizationId: string, robot: string): Promise<Registrant> {
  const found = await findRobot(reader, organizationId, robot);
  if (found === undefined) return { name: robot, actor: "" };
  const entry = await reader
    .selectFrom("robots")
    .innerJoin("audit_log", "audit_log.id", "robots.audit_id")
    .select("actor")
    .where("robots.id", "=", found.id)
    .executeTakeFirst();
  return { name: found.name, actor: entry?.actor ?? "" };
}
