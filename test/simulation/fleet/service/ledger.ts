import * as z from "zod";

import type { Watcher } from "./service-disk.ts";

/** Computes independently how long each deployment was active, and compares it with the usage ledger. */
export interface Ledger {
  /** Call after every commit. */
  look(nowMs: number): void;
  /** Writes since then may be lost: deployments active then stay active instead. */
  lose(sinceMs: number, nowMs: number): void;
  /** The first difference from the ledger; null without one. */
  complaint(times: LedgerTimes): string | null;
}

export interface LedgerTimes {
  readonly nowMs: number;
  readonly wall_ms: number;
  /** Tolerance of each start and end. */
  readonly toleranceMs: number;
  /** How much usage may be missing or excessive because clocks were set. */
  readonly behindMs: number;
  readonly aheadMs: number;
}

interface Account {
  active_ms: number;
  /** Start of the active period; null while inactive. */
  since_ms: number | null;
  /** Number of starts and ends: each is cut to a second. */
  changes: number;
}

const statusRow = z.object({ id: z.string(), status: z.string() });
const runningRow = z.object({ id: z.string(), usage_from: z.string().nullable() });
const SECOND_MS = 1000;

export function createLedger(database: Watcher): Ledger {
  let lostMs = 0;
  const accounts = new Map<string, Account>();
  const statuses = database.prepare("select id, status from deployments");
  const running = database.prepare("select id, usage_from from deployments");
  const entered = database.prepare("select sum(quantity) as seconds from usage_records where deployment_id = ?");

  return {
    look(nowMs) {
      for (const { id, status } of z.array(statusRow).parse(statuses.all())) {
        const account = accounts.get(id) ?? { active_ms: 0, since_ms: null, changes: 0 };
        accounts.set(id, account);
        const isActive = status === "active";
        if (isActive === (account.since_ms !== null)) continue;
        account.changes += 1;
        account.active_ms += account.since_ms === null ? 0 : nowMs - account.since_ms;
        account.since_ms = isActive ? nowMs : null;
      }
    },
    lose(sinceMs, nowMs) {
      lostMs += nowMs - sinceMs;
    },
    complaint({ nowMs, wall_ms: wallMs, toleranceMs, behindMs, aheadMs }) {
      for (const { id, usage_from: usageFrom } of z.array(runningRow).parse(running.all())) {
        const {
          active_ms: activeMs,
          since_ms: sinceMs,
          changes,
        } = accounts.get(id) ?? { active_ms: 0, since_ms: null, changes: 0 };
        const countedMs = activeMs + (sinceMs === null ? 0 : nowMs - sinceMs);
        const { seconds } = z.object({ seconds: z.number().nullable() }).parse(entered.get(id));
        const runsMs = usageFrom === null ? 0 : wallMs - Date.parse(usageFrom);
        const ledgerMs = (seconds ?? 0) * SECOND_MS + runsMs;
        const usualMs = (1 + changes) * (SECOND_MS + toleranceMs) + lostMs;
        const surplusMs = ledgerMs - countedMs;
        if (surplusMs > usualMs + aheadMs || -surplusMs > usualMs + behindMs)
          return `${id} was active for ${countedMs / SECOND_MS} s, but the ledger has ${ledgerMs / SECOND_MS} s`;
      }
      return null;
    },
  };
}
