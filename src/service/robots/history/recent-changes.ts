import * as z from "zod";

import type { RegistrationView } from "../../../api/registrations.ts";
import { prepare } from "../../kernel/store/prepared.ts";
import type { Reader, Transaction } from "../../kernel/store/store.ts";
import type { Tables } from "../../kernel/store/tables.ts";
import { noteChange, sourcesSince } from "./contest.ts";
import type { Change, Contest, RecentChanges } from "./contest.ts";

/** The columns of a robot that hold its recent changes. */
export type RecentChangesRow = Pick<Tables["robots"], "recent_changes" | "contested_since" | "contested_at">;

const changesSchema = z.array(z.object({ at: z.string(), body: z.string(), address: z.string(), actor: z.string() }));

/** The last detected contest, which may be over (see `currentContest`). */
export function contestOf({
  contested_since: since,
  contested_at: at,
}: Pick<RecentChangesRow, "contested_since" | "contested_at">): Contest | null {
  return since === null || at === null ? null : { since, at };
}

/** The clients that register a contested name, newest first. */
export async function readSources(
  reader: Reader,
  organizationId: string,
  { recent_changes: recentChanges }: Pick<RecentChangesRow, "recent_changes">,
  since: string,
): Promise<RegistrationView["contested_from"]> {
  const sources = sourcesSince(since, readChanges(recentChanges));
  const ids = sources.map(({ actor }) => actor);
  const keys = await reader
    .selectFrom("api_keys")
    .select(["id", "label"])
    .where("organization_id", "=", organizationId)
    .where("id", "in", ids)
    .execute();
  const labels = new Map(keys.map(({ id, label }) => [id, label]));
  return sources.map(({ address, actor: id }) => ({ address, actor: { id, label: labels.get(id) ?? null } }));
}

function readChanges(recentChanges: string): RecentChanges["changes"] {
  return changesSchema.parse(JSON.parse(recentChanges));
}

/** Records a change of a robot's registration. Not called for registrations that change nothing, which most do. */
export async function writeChange(
  transaction: Transaction,
  { id, ...before }: RecentChangesRow & Pick<Tables["robots"], "id">,
  change: Change,
): Promise<RecentChanges> {
  const recent = noteChange({ changes: readChanges(before.recent_changes), contest: contestOf(before) }, change);
  const { since = null, at = null } = recent.contest ?? {};
  const recentChanges = JSON.stringify(recent.changes);
  await update(transaction, { id, recent_changes: recentChanges, contested_since: since, contested_at: at });
  return recent;
}

const update = prepare<RecentChangesRow & Pick<Tables["robots"], "id">, never>((database, parameter) =>
  database
    .updateTable("robots")
    .set({
      recent_changes: parameter("recent_changes"),
      contested_since: parameter("contested_since"),
      contested_at: parameter("contested_at"),
    })
    .where("id", "=", parameter("id")),
);
