import { isoNow } from "../../../platform/clock.ts";
import type { ServiceMachine } from "../machine.ts";
import type { Store } from "../store/store.ts";
import type { Task } from "../tasks/task-loop.ts";
import type { Principal } from "./authenticate.ts";

/** Records the last use of keys and sessions, without a write for each request. */
export interface LastUsed {
  /** Notes in memory that a credential is used now. */
  note(principal: Pick<Principal, "credential" | "credentialId">): void;
  /** The use of a credential that is noted and not yet written; ISO 8601. */
  notedAt(id: string): string | null;
  /** Calls `flush` once a minute. */
  readonly task: Task;
  /** Writes the noted uses to the store. @throws StoreUnavailableError. */
  flush(): Promise<void>;
}

/** Credentials noted between two writes; other uses are not recorded. */
export const NOTED_CREDENTIALS_MAXIMUM = 10_000;
const PERIOD_MS = 60_000;
/** Rows per write, so that a request never waits for all of them. */
const BATCH = 500;

interface Use {
  readonly table: "api_keys" | "sessions";
  readonly id: string;
  readonly at: string;
}

export function createLastUsed(store: Store, { clock }: Pick<ServiceMachine, "clock">): LastUsed {
  let noted = new Map<string, Use>();

  async function flush(): Promise<void> {
    // In a fixed order, so that replicas which write the same rows do not deadlock.
    const uses = [...noted.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1));
    noted = new Map();
    for (let start = 0; start < uses.length; start += BATCH) {
      const batch = uses.slice(start, start + BATCH);
      await store.write(async (transaction) => {
        for (const { table, id, at } of batch) {
          const row = transaction.updateTable(table).set({ last_used_at: at }).where("id", "=", id);
          // Unless another replica has written a later one.
          await row
            .where((where) => where.or([where("last_used_at", "is", null), where("last_used_at", "<", at)]))
            .execute();
        }
      });
    }
  }

  return {
    note({ credential, credentialId: id }) {
      if (credential === "robot") return;
      if (noted.size >= NOTED_CREDENTIALS_MAXIMUM && !noted.has(id)) return;
      const at = isoNow(clock);
      noted.set(id, { table: credential === "api_key" ? "api_keys" : "sessions", id, at });
    },
    notedAt: (id) => noted.get(id)?.at ?? null,
    task: { name: "note-last-used", intervalMs: PERIOD_MS, ignoresNudges: true, run: flush },
    flush,
  };
}
