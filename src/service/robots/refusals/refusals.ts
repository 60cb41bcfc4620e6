import type { FastifyRequest } from "fastify";
import * as z from "zod";

import { maskSecrets } from "../../../api/wire/service-key.ts";
import { isoNow } from "../../../platform/clock.ts";
import type { Answer } from "../../kernel/http/answers.ts";
import { readBody } from "../../kernel/http/body.ts";
import { clientAddress } from "../../kernel/http/arrival.ts";
import type { RefusedRequest } from "../../kernel/http/mount.ts";
import type { NewId } from "../../kernel/ids.ts";
import type { Json } from "../../kernel/json/parse-json.ts";
import type { ServiceMachine } from "../../kernel/machine.ts";
import { redact } from "../../kernel/redact.ts";
import type { Store } from "../../kernel/store/store.ts";
import type { Task } from "../../kernel/tasks/task.ts";
import { isObject } from "../../kernel/validation/check.ts";
import { boundRefusals, noteRefusal, type RefusalRow, UNKNOWN_ROBOT } from "./queries.ts";

/** A refused registration. */
export type Refusal = Pick<
  RefusalRow,
  "organization_id" | "robot" | "status" | "actor" | "address" | "detail" | "request_id"
>;

/** Collects refused registrations for operators. They are written in batches, because a refused robot retries again and again. */
export interface Refusals {
  note(refusal: Refusal): void;
  /** Writes the collected refusals every few seconds. */
  readonly task: Task;
  /** Writes the collected refusals now. @throws StoreUnavailableError. */
  flush(): Promise<void>;
}

export interface RefusalsContext {
  readonly store: Store;
  readonly newId: NewId;
  readonly machine: Pick<ServiceMachine, "clock">;
}

/** Maximum number of entries collected between two writes, per organization and in total. Others are noted when they are refused again. */
export const NOTED_MAXIMUM = { organization: 100, all: 1000 } as const;
const PERIOD_MS = 2500;
/** Rows per transaction, so that requests can write in between. */
const BATCH = 200;
/** Longer names are invalid; the refusal is kept without the name. */
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
    // Sorted, so that replicas lock the same rows in the same order.
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
      const at = isoNow(clock);
      const { id, first_at: firstAt, count } = known ?? { id: newId("ref"), first_at: at, count: 0 };
      const detail = withoutSecrets(refusal.detail).slice(0, DETAIL_LENGTH);
      noted.set(key, { ...refusal, id, robot, detail, first_at: firstAt, last_at: at, count: count + 1 });
    },
    task: { name: "note-refusals", intervalMs: PERIOD_MS, ignoresNudges: true, run: flush },
    flush,
  };
}

/** Removes API keys and session tokens that a person pasted in the wrong place. */
function withoutSecrets(text: string): string {
  return redact(maskSecrets(text));
}

/** Maximum number of findings in the detail of a refusal. */
const FINDINGS_TOLD = 3;
/** Larger bodies are not parsed for the robot's name. */
const NAMED_BODY_BYTES = 64 * 1024;

const detailSchema = z.object({
  detail: z.union([
    z.string(),
    z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })),
  ]),
});

/** Notes a refused registration, unless its credential belongs to no organization. */
export function noteRefusedSetup(
  refusals: Pick<Refusals, "note">,
  request: FastifyRequest,
  { owner, answer, contentType }: RefusedRequest,
): void {
  if (owner === null) return;
  const { organizationId, credentialId: actor } = owner;
  refusals.note({
    organization_id: organizationId,
    actor,
    robot: robotIn(request, contentType),
    status: answer.status,
    address: clientAddress(request),
    detail: reasonIn(answer),
    request_id: request.id,
  });
}

/** Locations and messages, never the values that were sent. */
function reasonIn({ json }: Answer): Refusal["detail"] {
  const { detail } = detailSchema.parse(JSON.parse(json));
  if (typeof detail === "string") return detail;
  const told = detail.slice(0, FINDINGS_TOLD).map(({ loc, msg }) => `${loc.slice(1).join(".") || "body"}: ${msg}`);
  const rest = detail.length - told.length;
  return [...told, ...(rest === 0 ? [] : [`and ${rest} more`])].join("; ");
}

function robotIn({ body: bytes }: FastifyRequest, contentType: string | undefined): string {
  if (!(bytes instanceof Uint8Array) || bytes.byteLength > NAMED_BODY_BYTES) return UNKNOWN_ROBOT;
  const body = readBody(contentType, bytes);
  const name: Json | undefined = body.state === "read" && isObject(body.value) ? body.value.get("name") : undefined;
  return typeof name === "string" ? name : UNKNOWN_ROBOT;
}
