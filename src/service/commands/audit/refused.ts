import type { RefusalView } from "../../../api/refusals.ts";
import { refusalInWords } from "../../../api/words/audit.ts";
import type { Terminal } from "../../../platform/terminal.ts";
import type { Reader } from "../../kernel/store/store.ts";
import { viewRefusal } from "../../robots/refusals/operations.ts";
import { listRefusals } from "../../robots/refusals/queries.ts";

interface RefusedQuery {
  readonly organizationId: string;
  /** ISO 8601; null for no bound. */
  readonly since: string | null;
  readonly limit: number;
  readonly json: boolean;
}

/** `audit --refused`: refused registrations of an organization, newest last. */
export async function showRefused(
  reader: Reader,
  { organizationId, since, limit, json }: RefusedQuery,
  terminal: Terminal,
): Promise<void> {
  const newest = (await listRefusals(reader, organizationId, undefined))
    .filter(({ last_at: lastAt }) => since === null || lastAt >= since)
    .slice(0, limit);
  const refusals = newest.toReversed().map(viewRefusal);
  if (json) terminal.json({ items: refusals });
  else if (refusals.length === 0) terminal.note("No registration was refused in this time.");
  else terminal.table(HEADERS, refusals.map(toCells), ["ROBOT", "REASON", "KEY"]);
}

const HEADERS = ["AT", "ROBOT", "REASON", "KEY", "FROM"] as const;

function toCells(refusal: RefusalView): readonly string[] {
  const { last_at: lastAt, robot, actor, address } = refusal;
  return [lastAt, robot ?? "-", refusalInWords(refusal), actor.label ?? actor.id, address];
}
