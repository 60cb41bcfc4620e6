import type { RefusalView } from "../../api/refusals.ts";
import { refusalInWords } from "../../api/words/audit.ts";
import type { Terminal } from "../../platform/terminal.ts";
import type { Reader } from "../kernel/store/store.ts";
import { viewRefusal } from "../robots/refusal-operations.ts";
import { listRefusals } from "../robots/refusal-queries.ts";

interface Wanted {
  readonly organization_id: string;
  /** ISO 8601; null for no bound. */
  readonly since: string | null;
  readonly limit: number;
  readonly json: boolean;
}

/** `audit --refused`: registrations of an organization that were refused, newest last. */
export async function showRefused(reader: Reader, wanted: Wanted, terminal: Terminal): Promise<void> {
  const { organization_id: organizationId, since, limit, json } = wanted;
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
