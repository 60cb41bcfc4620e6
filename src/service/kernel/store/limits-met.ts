import { isoTime } from "../../../platform/clock.ts";
import type { Reader } from "./store.ts";
import type { Tables, Transaction } from "./tables.ts";

export type LimitMetRow = Tables["limits_met"];

/** Parties kept per limit: those that met it last. */
const PARTIES_KEPT = 100;
/** How long a party is kept after it last met the limit. */
const KEPT_MS = 7 * 24 * 3_600_000;

/** Adds to the count of a party and a limit. */
export async function noteLimitMet(transaction: Transaction, row: LimitMetRow): Promise<void> {
  await transaction
    .insertInto("limits_met")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["limit_name", "party"]).doUpdateSet(({ ref, eb }) => ({
        organization_id: ref("excluded.organization_id"),
        last_at: ref("excluded.last_at"),
        count: eb("limits_met.count", "+", ref("excluded.count")),
      })),
    )
    .execute();
}

/** Deletes old parties, and parties beyond the maximum per limit. @param nowMs since the Unix epoch. */
export async function boundLimitsMet(transaction: Transaction, nowMs: number): Promise<void> {
  await transaction.deleteFrom("limits_met").where("last_at", "<", keptSince(nowMs)).execute();
  const ranked = transaction
    .selectFrom("limits_met")
    .select(["limit_name", "party"])
    .select(({ fn }) =>
      fn
        .agg<number>("row_number")
        .over((over) => over.partitionBy("limit_name").orderBy("last_at", "desc").orderBy("count", "desc"))
        .as("place"),
    );
  const surplus = await transaction
    .selectFrom(ranked.as("ranked"))
    .select(["limit_name", "party"])
    .where("place", ">", PARTIES_KEPT)
    .execute();
  for (const { limit_name: limitName, party } of surplus) {
    await transaction.deleteFrom("limits_met").where("limit_name", "=", limitName).where("party", "=", party).execute();
  }
}

/** A party with the names that people know. */
export interface LimitMet extends LimitMetRow {
  readonly organization: string | null;
  /** Label of the key, or of the key that a session goes back to. */
  readonly label: string | null;
}

/** Who met limits recently, most often first. @param nowMs since the Unix epoch. */
export function listLimitsMet(reader: Reader, nowMs: number, rows: number): Promise<LimitMet[]> {
  return (
    reader
      .selectFrom("limits_met")
      .leftJoin("organizations", "organizations.id", "limits_met.organization_id")
      .leftJoin("sessions", "sessions.id", "limits_met.party")
      .leftJoin("api_keys", (join) =>
        join.on((on) => on("api_keys.id", "=", on.fn.coalesce("sessions.created_by", "limits_met.party"))),
      )
      .selectAll("limits_met")
      .select(["organizations.name as organization", "api_keys.label"])
      // Old rows are deleted only when another is noted, which may never happen.
      .where("last_at", ">=", keptSince(nowMs))
      .orderBy("count", "desc")
      .orderBy("limit_name")
      .orderBy("party")
      .limit(rows)
      .execute()
  );
}

function keptSince(nowMs: number): string {
  return isoTime(nowMs - KEPT_MS);
}
