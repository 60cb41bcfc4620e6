import type { ServiceMachine } from "../machine.ts";
import type { Store } from "../store/store.ts";
import type { Task } from "../tasks/task.ts";
import type { Principal } from "./authenticate.ts";
import { noteUse } from "./credentials.ts";
import type { CredentialTable } from "./credentials.ts";

/** When each credential was used last, without a write for each request. */
export interface LastUsed {
  /** Remembers that a credential was used now. */
  note(principal: Pick<Principal, "credential" | "credential_id">): void;
  /** Writes down what was noted, once a minute at most. */
  readonly task: Task;
  /** Writes down what was noted. @throws StoreUnavailableError. */
  flush(): Promise<void>;
}

/** Credentials noted between two writes; the uses of others wait for their next one. */
export const NOTED_CREDENTIALS_MAXIMUM = 10_000;
const PERIOD_MS = 60_000;
/** Rows of one write, so that no request waits for all of them. */
const BATCH = 500;

interface Use {
  readonly table: CredentialTable;
  readonly id: string;
  readonly at: string;
}

export function createLastUsed(store: Store, { clock }: Pick<ServiceMachine, "clock">): LastUsed {
  let noted = new Map<string, Use>();

  async function flush(): Promise<void> {
    // Replicas that write down the same credentials lock their rows in the same order.
    const uses = [...noted.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1));
    noted = new Map();
    for (let start = 0; start < uses.length; start += BATCH) {
      const batch = uses.slice(start, start + BATCH);
      await store.write(async (transaction) => {
        for (const { table, id, at } of batch) await noteUse(transaction, table, id, at);
      });
    }
  }

  return {
    note({ credential, credential_id: id }) {
      if (noted.size >= NOTED_CREDENTIALS_MAXIMUM && !noted.has(id)) return;
      const at = new Date(clock.wallMs()).toISOString();
      noted.set(id, { table: credential === "api_key" ? "api_keys" : "sessions", id, at });
    },
    task: { name: "note-last-used", intervalMs: PERIOD_MS, ignoresNudges: true, run: flush },
    flush,
  };
}
