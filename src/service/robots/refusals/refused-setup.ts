import type { FastifyRequest } from "fastify";
import * as z from "zod";

import type { Answer } from "../../kernel/http/answers.ts";
import { readBody } from "../../kernel/http/body.ts";
import { clientAddress } from "../../kernel/http/arrival.ts";
import type { RefusedRequest } from "../../kernel/http/route.ts";
import type { Json } from "../../kernel/json/parse-json.ts";
import { isObject } from "../../kernel/validation/check.ts";
import { UNKNOWN_ROBOT } from "./queries.ts";
import type { Refusal, Refusals } from "./refusals.ts";

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
