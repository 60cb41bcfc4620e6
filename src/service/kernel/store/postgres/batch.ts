import { sql } from "kysely";
import type { Kysely } from "kysely";

import { createBackoff } from "../../../../platform/retry.ts";
import type { ServiceMachine } from "../../machine.ts";
import { createTimeSlices } from "../../traffic/event-loop.ts";
import type { Tables } from "../tables.ts";
import { isConflict, isLockTimeout, isOverLimit, StoreUnavailableError, unavailable } from "../unavailable.ts";
import { commitAll } from "../writer.ts";
import type { PendingWrite, WriteRunner } from "../writer.ts";

/** How long writes of one commit together may wait for a row that others hold. */
export const BATCH_LOCK_TIMEOUT_MS = 100;
/** The same for a write that goes alone. */
const LOCK_TIMEOUT_MS = 5000;
/** How often a write is tried that meets others head-on. */
const ATTEMPTS_MAXIMUM = 8;
const BACKOFF = { firstMs: 10, capMs: 500 } as const;
/** Any number that no other program on the same database takes: "robotrty" in ASCII. */
const RETRY_LOCK = 0x726f_626f_7472_7479n;

type BatchMachine = Pick<ServiceMachine, "clock" | "random">;

/**
 * Runs many writes in one transaction, on connections whose `lock_timeout` is `BATCH_LOCK_TIMEOUT_MS`. Where one of them
 * fails or meets others in its way, all are undone and each goes alone: one that fails takes no other along, unless it is
 * the database that fails, and the locks of many writes never wait for the locks of many others in a ring.
 */
export function postgresRunner(database: Kysely<Tables>, batches: number, machine: BatchMachine): WriteRunner {
  const yieldWhenDue = createTimeSlices(machine.clock);
  return {
    together: (batch) => runTogether(database, batch, yieldWhenDue),
    alone: (write) => runAlone(database, write, machine),
    batches,
  };
}

async function runTogether(
  database: Kysely<Tables>,
  batch: readonly PendingWrite[],
  yieldWhenDue: () => Promise<void> | undefined,
): Promise<readonly PendingWrite[]> {
  try {
    await database.transaction().execute(async (transaction) => {
      for (const write of batch) await write.run(transaction);
    });
  } catch (error) {
    const cause = unavailable(error);
    const isInTheWay = isConflict(error) || isLockTimeout(error);
    // The server's answer came before the commit, or instead of it: nothing was done, and each may be tried again.
    const isOfOne = isOverLimit(error) || !(cause instanceof StoreUnavailableError);
    if (isInTheWay || (batch.length > 1 && isOfOne)) return batch;
    for (const write of batch) write.fail(cause);
    return [];
  }
  await commitAll(batch, yieldWhenDue);
  return [];
}

/** Runs one write in a transaction of its own, again where it met another one head-on. */
async function runAlone(database: Kysely<Tables>, write: PendingWrite, { clock, random }: BatchMachine): Promise<void> {
  const backoff = createBackoff({ ...BACKOFF, random });
  for (;;) {
    try {
      await database.transaction().execute(async (transaction) => {
        await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(transaction);
        // Those that met others head-on go one after the other, whichever replica they are of: many would meet again and again.
        if (backoff.attempts > 0) await sql`select pg_advisory_xact_lock(${sql.lit(RETRY_LOCK)})`.execute(transaction);
        await write.run(transaction);
      });
      write.commit();
      return;
    } catch (error) {
      if (!isConflict(error) || backoff.attempts + 1 >= ATTEMPTS_MAXIMUM) {
        write.fail(unavailable(error));
        return;
      }
      await clock.sleep(backoff.nextMs());
    }
  }
}
