import { type Kysely, sql } from "kysely";

import type { Clock } from "../../../../platform/clock.ts";
import { createBackoff } from "../../../../platform/retry.ts";
import type { ServiceMachine } from "../../machine.ts";
import { createTimeSlices } from "../../traffic/event-loop.ts";
import type { Tables } from "../tables.ts";
import { isConflict, isLockTimeout, isOverLimit, StoreUnavailableError, unavailable } from "../unavailable.ts";
import { commitAll, type PendingWrite, type WriteRunner } from "../writer.ts";

/** How long a write in a shared commit may wait for a locked row. */
export const BATCH_LOCK_TIMEOUT_MS = 100;
/**
 * How long a commit takes writes. Each is some round trips to the server: 64 writes of one organization would otherwise delay those of
 * others by 150 ms, first until a commit begins and then until their own one ends.
 */
const BATCH_MS = 20;
/** How long a write that runs alone may wait for a locked row. */
const LOCK_TIMEOUT_MS = 5000;
/** How often a write with serialization failures or deadlocks is tried. */
const ATTEMPTS_MAXIMUM = 8;
const BACKOFF = { firstMs: 10, capMs: 500 } as const;
/** Advisory lock id that no other program on the database uses: "robotrty" in ASCII. */
const RETRY_LOCK = 0x726f_626f_7472_7479n;

type BatchMachine = Pick<ServiceMachine, "clock" | "random">;

/**
 * Runs many writes in one transaction, on connections whose `lock_timeout` is `BATCH_LOCK_TIMEOUT_MS`. When one of them fails or cannot
 * get a lock, the transaction is rolled back and each write runs alone. So a failing write does not fail the others, unless the database
 * itself fails, and shared commits do not deadlock with each other.
 */
export function postgresRunner(database: Kysely<Tables>, batches: number, machine: BatchMachine): WriteRunner {
  const yieldWhenDue = createTimeSlices(machine.clock);
  return {
    together: (batch) => runTogether(database, batch, machine.clock, yieldWhenDue),
    alone: (write) => runAlone(database, write, machine),
    batches,
  };
}

async function runTogether(
  database: Kysely<Tables>,
  batch: Iterable<PendingWrite>,
  clock: Pick<Clock, "monotonicMs">,
  yieldWhenDue: () => Promise<void> | undefined,
): Promise<readonly PendingWrite[]> {
  const begun: PendingWrite[] = [];
  try {
    await database.transaction().execute(async (transaction) => {
      const endMs = clock.monotonicMs() + BATCH_MS;
      for (const write of batch) {
        begun.push(write);
        await write.run(transaction);
        if (clock.monotonicMs() >= endMs) break;
      }
    });
  } catch (error) {
    const cause = unavailable(error);
    const isBlocked = isConflict(error) || isLockTimeout(error);
    // The server reported the error before or instead of the commit: nothing was committed, and each write may run again.
    const isFaultOfOne = begun.length > 0 && (isOverLimit(error) || !(cause instanceof StoreUnavailableError));
    if (isBlocked || (begun.length > 1 && isFaultOfOne)) return begun;
    for (const write of isFaultOfOne ? begun : [...begun, ...batch]) write.fail(cause);
    return [];
  }
  await commitAll(begun, yieldWhenDue);
  return [];
}

/** Runs one write in its own transaction, and again after a serialization failure or a deadlock. */
async function runAlone(database: Kysely<Tables>, write: PendingWrite, { clock, random }: BatchMachine): Promise<void> {
  const backoff = createBackoff({ ...BACKOFF, random });
  for (;;) {
    try {
      await database.transaction().execute(async (transaction) => {
        await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(transaction);
        // Retries of all replicas run one after the other: in parallel, many would fail again and again.
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
