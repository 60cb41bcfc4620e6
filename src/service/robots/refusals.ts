import { maskSecrets } from "../../platform/text/service-key.ts";
import type { NewId } from "../kernel/ids.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import { redact } from "../kernel/redact.ts";
import type { Store } from "../kernel/store/store.ts";
import type { Task } from "../kernel/tasks/task.ts";
import { boundRefusals, noteRefusal } from "./refusal-queries.ts";
import type { RefusalRow } from "./refusal-queries.ts";

/** A registration that was refused, as far as it is known whose it was. */
export type Refusal = Pick<
  RefusalRow,
  "organization_id" | "robot" | "status" | "actor" | "address" | "detail" | "request_id"
>;

/** Refused registrations, for operators to find: without a write for each, because a robot that is refused asks again and again. */
export interface Refusals {
  note(refusal: Refusal): void;
  /** Writes down what was noted, every few seconds at most. */
  readonly task: Task;
  /** Writes down what was noted. @throws StoreUnavailableError. */
  flush(): Promise<void>;
}

export interface RefusalsContext {
  readonly store: Store;
  readonly newId: NewId;
  readonly machine: Pick<ServiceMachine, "clock">;
}

/** Different ones that are noted between two writes: of an organization, and of all. Others wait until they are refused again. */
export const NOTED_MAXIMUM = { organization: 100, all: 1000 } as const;
const PERIOD_MS = 2500;
/** Rows of one write, so that no request waits for all of them. */
const BATCH = 200;
/** Longer names are no robot's. */
const NAME_LENGTH = 256;
const DETAIL_LENGTH = 500;

export function createRefusals({ store, newId, machine: { clock } }: RefusalsContext): Refusals {
  let noted = new Map<string, RefusalRow>();

  function hasRoom(organizationId: string): boolean {
    if (noted.size >= NOTED_MAXIMUM.all) return false;
    const own = [...noted.values()].filter(({ organization_id }) => organization_id === organizationId);
    return own.length < NOTED_MAXIMUM.organization;
  }

  async function flush(): Promise<void> {
    // Replicas that write down the same ones lock their rows in the same order.
    const rows = [...noted].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
    noted = new Map();
    for (let start = 0; start < rows.length; start += BATCH) {
      const batch = rows.slice(start, start + BATCH);
      await store.write(async (transaction) => {
        for (const row of batch) await noteRefusal(transaction, row);
        for (const id of new Set(batch.map((row) => row.organization_id))) await boundRefusals(transaction, id);
      });
    }
  }

  return {
    note(refusal) {
      const robot = refusal.robot.length <= NAME_LENGTH ? withoutSecrets(refusal.robot) : "";
      const { organization_id: organizationId, status, actor, address } = refusal;
      const key = JSON.stringify([organizationId, robot, status, actor, address]);
      const known = noted.get(key);
      if (known === undefined && !hasRoom(organizationId)) return;
      const at = new Date(clock.wallMs()).toISOString();
      const { id, first_at: firstAt, count } = known ?? { id: newId("ref"), first_at: at, count: 0 };
      const detail = withoutSecrets(refusal.detail).slice(0, DETAIL_LENGTH);
      noted.set(key, { ...refusal, id, robot, detail, first_at: firstAt, last_at: at, count: count + 1 });
    },
    task: { name: "note-refusals", intervalMs: PERIOD_MS, ignoresNudges: true, run: flush },
    flush,
  };
}

/** Keys, and tokens of sessions, that a person pasted in the wrong place. */
function withoutSecrets(text: string): string {
  return redact(maskSecrets(text));
}
