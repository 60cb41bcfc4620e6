import { sql } from "kysely";

import { firstIdAt } from "../kernel/ids.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import type { Reader, Store } from "../kernel/store/store.ts";
import type { Task } from "../kernel/tasks/task.ts";

const GIBIBYTE = 1024 ** 3;
const HOUR_MS = 3_600_000;
/** Rows of one query, which takes a few milliseconds. */
const PAGE_ROWS = 2000;
/** After a query, how long requests have the store for themselves. */
const REST_MS = 100;

/**
 * Bytes that one organization may store. A site of 10,000 robots, each of which registers a hundred times a day, fills 200 GiB of audit
 * log in the 400 days that it is kept, and 2.5 GiB with the largest contracts.
 */
export const STORED_BYTES = 256 * GIBIBYTE;

/** Size of a row besides its texts that are counted: ids, times and index entries. */
const ROW_BYTES = 400;

/** Tables that organizations fill, and their long texts. `octet_length` does not read the text (sqlite.org/lang_corefunc.html). */
const TEXT_BYTES = {
  robots: sql<number>`octet_length(labels) + coalesce(octet_length(contract), 0) + octet_length(recent_changes)`,
  fleets: sql<number>`octet_length(operating_windows) + octet_length(selection)`,
  audit_log: sql<number>`octet_length(details)`,
} as const;
type Table = keyof typeof TEXT_BYTES;

/** The audit log is summed by the first characters of its ids; ids of the same twelve days share them (kernel/ids.ts). */
const PART_MS = 2 ** 30;
const PART_CHARACTERS = "aud_0000".length;
/** Larger than the rest of any id. */
const PART_END = "z".repeat(26);

/** Counts what each organization stores: every few hours what was added to the store, and in between what this process adds. */
export interface StoredBytes {
  readonly maximum: number;
  /** False until the store was counted once. */
  isFull(organizationId: string): boolean;
  /** Records bytes that were added. */
  add(organizationId: string, textBytes: number): void;
  readonly task: Task;
}

export function createStoredBytes(
  store: Pick<Store, "reader">,
  maximum: number,
  { clock }: Pick<ServiceMachine, "clock">,
): StoredBytes {
  let counted = new Map<string, number>();
  const added = new Map<string, number>();
  /** Parts of the audit log that get no entries any more. Pruning deletes the oldest entries: a part counts until its last one is gone. */
  let closed: readonly Sum[] = [];

  async function countAudit(signal: AbortSignal): Promise<readonly Sum[]> {
    const oldest = await store.reader
      .selectFrom("audit_log")
      .select(({ fn }) => fn.min("id").as("id"))
      .executeTakeFirst();
    const firstPart = oldest?.id?.slice(0, PART_CHARACTERS) ?? PART_END;
    // The part before the present one is counted each time too: clocks differ, and an id is older than its commit. Later ones exist where a
    // clock was wrong, so the newest parts are not always those that get entries.
    const firstOpen = firstIdAt("aud", clock.wallMs() - PART_MS).slice(0, PART_CHARACTERS);
    const kept = closed.filter(({ part }) => part >= firstPart && part < firstOpen);
    const newest = kept.at(-1);
    const sums = [
      ...kept,
      ...(await readTable("audit_log", newest === undefined ? "" : newest.part + PART_END, signal)),
    ];
    closed = sums.filter(({ part }) => part < firstOpen);
    return sums;
  }

  /** Sums by part and organization, in the order of the parts. */
  async function readTable(table: Table, from: string, signal: AbortSignal): Promise<readonly Sum[]> {
    const sums = new Map<string, Sum>();
    for (let after: string | null = from; after !== null;) {
      const page = await readPage(store.reader, table, after);
      for (const { organization_id: id, part, bytes } of page.sums) {
        const name = `${part} ${id}`;
        sums.set(name, { organization_id: id, part, bytes: (sums.get(name)?.bytes ?? 0) + bytes });
      }
      after = page.next;
      if (after !== null) await clock.sleep(REST_MS, signal);
    }
    return [...sums.values()];
  }

  async function count(signal: AbortSignal): Promise<void> {
    const addedBefore = new Map(added);
    const totals = new Map<string, number>();
    const sums = [
      ...(await readTable("robots", "", signal)),
      ...(await readTable("fleets", "", signal)),
      ...(await countAudit(signal)),
    ];
    for (const { organization_id: id, bytes } of sums) {
      if (id !== null) totals.set(id, (totals.get(id) ?? 0) + bytes);
    }
    counted = totals;
    for (const [id, bytes] of addedBefore) {
      const since = (added.get(id) ?? 0) - bytes;
      if (since > 0) added.set(id, since);
      else added.delete(id);
    }
  }

  return {
    maximum,
    isFull: (id) => (counted.get(id) ?? 0) + (added.get(id) ?? 0) >= maximum,
    add: (id, textBytes) => void added.set(id, (added.get(id) ?? 0) + ROW_BYTES + textBytes),
    task: { name: "count-stored-bytes", intervalMs: 6 * HOUR_MS, ignoresNudges: true, run: count },
  };
}

interface Sum {
  /** Null for what belongs to the service. */
  readonly organization_id: string | null;
  /** Beginning of the ids of the rows. */
  readonly part: string;
  readonly bytes: number;
}

/** What the next rows of a table take, and the id of the last; null when no more follow. */
async function readPage(
  reader: Reader,
  table: Table,
  after: string,
): Promise<{ readonly sums: readonly Sum[]; readonly next: string | null }> {
  const { rows } = await sql<Sum & { readonly last_id: string; readonly rows: number }>`
    select organization_id, part, sum(bytes) as bytes, max(id) as last_id, count(*) as rows
    from (
      select id, organization_id, substr(id, 1, ${sql.lit(PART_CHARACTERS)}) as part,
        ${sql.lit(ROW_BYTES)} + ${TEXT_BYTES[table]} as bytes
      from ${sql.table(table)} where id > ${after} order by id limit ${sql.lit(PAGE_ROWS)}
    ) as page
    group by part, organization_id order by part
  `.execute(reader);
  const count = rows.reduce((sum, row) => sum + row.rows, 0);
  const lastIds = rows.map(({ last_id: lastId }) => lastId).toSorted();
  return { sums: rows, next: count < PAGE_ROWS ? null : (lastIds.at(-1) ?? null) };
}
