import * as z from "zod";

import type { Watcher } from "./service-disk.ts";

/** Counts by itself how long each deployment was active, and holds the ledger to it. */
export interface Ledger {
  /** After every commit. */
  look(now_ms: number): void;
  /** What was written since then may be lost: what ran then runs on in its place. */
  lose(since_ms: number, now_ms: number): void;
  /** What the ledger says otherwise; null where nothing. */
  complaint(times: LedgerTimes): string | null;
}

export interface LedgerTimes {
  readonly now_ms: number;
  readonly wall_ms: number;
  /** By how much each beginning and end may be off. */
  readonly tolerance_ms: number;
  /** By how much usage may be too little, and too much, because clocks were set. */
  readonly behind_ms: number;
  readonly ahead_ms: number;
}

interface Account {
  active_ms: number;
  /** Since when it is active; null while it is not. */
  since_ms: number | null;
  /** How often it began and ended: each is cut to a second. */
  changes: number;
}

const statusRow = z.object({ id: z.string(), status: z.string() });
const runningRow = z.object({ id: z.string(), usage_from: z.string().nullable() });
const SECOND_MS = 1000;

export function createLedger(database: Watcher): Ledger {
  let lost_ms = 0;
  const accounts = new Map<string, Account>();
  const statuses = database.prepare("select id, status from deployments");
  const running = database.prepare("select id, usage_from from deployments");
  const entered = database.prepare("select sum(quantity) as seconds from usage_records where deployment_id = ?");

  return {
    look(now_ms) {
      for (const { id, status } of z.array(statusRow).parse(statuses.all())) {
        const account = accounts.get(id) ?? { active_ms: 0, since_ms: null, changes: 0 };
        accounts.set(id, account);
        const isActive = status === "active";
        if (isActive === (account.since_ms !== null)) continue;
        account.changes += 1;
        account.active_ms += account.since_ms === null ? 0 : now_ms - account.since_ms;
        account.since_ms = isActive ? now_ms : null;
      }
    },
    lose(since_ms, now_ms) {
      lost_ms += now_ms - since_ms;
    },
    complaint({ now_ms, wall_ms, tolerance_ms, behind_ms, ahead_ms }) {
      for (const { id, usage_from } of z.array(runningRow).parse(running.all())) {
        const { active_ms, since_ms, changes } = accounts.get(id) ?? { active_ms: 0, since_ms: null, changes: 0 };
        const counted_ms = active_ms + (since_ms === null ? 0 : now_ms - since_ms);
        const { seconds } = z.object({ seconds: z.number().nullable() }).parse(entered.get(id));
        const runs_ms = usage_from === null ? 0 : wall_ms - Date.parse(usage_from);
        const ledger_ms = (seconds ?? 0) * SECOND_MS + runs_ms;
        const usual_ms = (1 + changes) * (SECOND_MS + tolerance_ms) + lost_ms;
        const surplus_ms = ledger_ms - counted_ms;
        if (surplus_ms > usual_ms + ahead_ms || -surplus_ms > usual_ms + behind_ms)
          return `${id} was active for ${counted_ms / SECOND_MS} s, and the ledger says ${ledger_ms / SECOND_MS} s`;
      }
      return null;
    },
  };
}
