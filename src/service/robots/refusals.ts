/** The last refusal of each robot: for operators, because a robot that is refused keeps its last registration and says nothing more. */
import * as z from "zod";
import type { FastifyRequest } from "fastify";

import { maskSecrets } from "../../api/wire/service-key.ts";
import { isoNow } from "../../platform/clock.ts";
import { clientAddress } from "../kernel/http/arrival.ts";
import type { Answer } from "../kernel/http/answers.ts";
import { readBody } from "../kernel/http/body.ts";
import type { RefusedRequest } from "../kernel/http/mount.ts";
import type { ServiceMachine } from "../kernel/machine.ts";
import { redact } from "../kernel/redact.ts";
import type { Store, Transaction } from "../kernel/store/store.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";
import { isObject } from "../kernel/validation/check.ts";

const storedRefusalSchema = z.object({
  at: z.string(),
  /** Of the answer, like `detail`. */
  status: z.int(),
  detail: z.string(),
  /** Id of the credential. */
  actor: z.string(),
  address: z.string(),
  request_id: z.string(),
});

/** A refused registration of a robot, as its row has it. */
type StoredRefusal = z.output<typeof storedRefusalSchema>;

export function parseRefusal(text: string): StoredRefusal {
  return storedRefusalSchema.parse(JSON.parse(text));
}

interface RefusedRobot {
  readonly organizationId: string;
  readonly name: string;
  readonly refusal: StoredRefusal;
}

/** Collects refusals, and writes them in batches, because a refused robot retries again and again. */
export interface Refusals {
  note(refused: RefusedRobot): void;
  /** Writes the collected refusals every few seconds. */
  readonly task: Task;
  /** Writes the collected refusals now. @throws StoreUnavailableError. */
  flush(): Promise<void>;
}

/** Robots collected between two writes. Others are noted when they are refused again. */
export const NOTED_MAXIMUM = 1000;
const PERIOD_MS = 2500;
/** Rows per transaction, so that requests can write in between. */
const BATCH = 200;

export function createRefusals(store: Store): Refusals {
  let noted = new Map<string, RefusedRobot>();

  async function flush(): Promise<void> {
    // Sorted, so that replicas lock the same rows in the same order.
    const refused = [...noted].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, each]) => each);
    noted = new Map();
    for (let start = 0; start < refused.length; start += BATCH) {
      const batch = refused.slice(start, start + BATCH);
      await store.write(async (transaction) => {
        for (const each of batch) await writeRefusal(transaction, each);
      });
    }
  }

  return {
    note(refused) {
      const key = JSON.stringify([refused.organizationId, refused.name]);
      if (noted.size < NOTED_MAXIMUM || noted.has(key)) noted.set(key, refused);
    },
    task: { name: "note-refusals", intervalMs: PERIOD_MS, ignoresNudges: true, run: flush },
    flush,
  };
}

/** Nothing for a name that no robot has, and for a robot that registered since. */
async function writeRefusal(transaction: Transaction, { organizationId, name, refusal }: RefusedRobot): Promise<void> {
  await transaction
    .updateTable("robots")
    .set({ last_refusal: JSON.stringify(refusal) })
    .where("organization_id", "=", organizationId)
    .where("name", "=", name)
    .where("removed_at", "is", null)
    .where("updated_at", "<", refusal.at)
    .execute();
}

/** Maximum number of findings in the detail of a refusal. */
const FINDINGS_SHOWN = 3;
const DETAIL_LENGTH = 500;
/** Larger bodies are not parsed for the robot's name. */
const NAMED_BODY_BYTES = 64 * 1024;

const detailSchema = z.object({
  detail: z.union([
    z.string(),
    z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })),
  ]),
});

/** Notes a refused registration, unless it was refused before its body was read: then nobody knows the robot. */
export function noteRefusedSetup(
  refusals: Pick<Refusals, "note">,
  { clock }: Pick<ServiceMachine, "clock">,
  request: FastifyRequest,
  { owner, answer, contentType }: RefusedRequest,
): void {
  const name = nameIn(request, contentType);
  if (owner === null || name === null) return;
  refusals.note({
    organizationId: owner.organizationId,
    name,
    refusal: {
      at: isoNow(clock),
      status: answer.status,
      // Without API keys and session tokens that a person pasted in the wrong place.
      detail: redact(maskSecrets(reasonIn(answer))).slice(0, DETAIL_LENGTH),
      actor: owner.credentialId,
      address: clientAddress(request),
      request_id: request.id,
    },
  });
}

/** Locations and messages, never the values that were sent. */
function reasonIn({ json }: Answer): string {
  const { detail } = detailSchema.parse(JSON.parse(json));
  if (typeof detail === "string") return detail;
  const shown = detail.slice(0, FINDINGS_SHOWN).map(({ loc, msg }) => `${loc.slice(1).join(".") || "body"}: ${msg}`);
  const rest = detail.length - shown.length;
  return [...shown, ...(rest === 0 ? [] : [`and ${rest} more`])].join("; ");
}

function nameIn({ body: bytes }: FastifyRequest, contentType: string | undefined): string | null {
  if (!(bytes instanceof Uint8Array) || bytes.byteLength > NAMED_BODY_BYTES) return null;
  const body = readBody(contentType, bytes);
  const name = body.state === "read" && isObject(body.value) ? body.value.get("name") : null;
  return typeof name === "string" ? name : null;
}
