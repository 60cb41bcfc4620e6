import { regionListSchema } from "../../api/endpoints.ts";
import { serviceKeyOffset } from "../../api/wire/service-key.ts";
import { operationUrl } from "../../client/address.ts";
import { readAnswer } from "../../client/answer.ts";
import { RECORD_LIMIT_BYTES } from "../../client/client.ts";
import type { Credential } from "../../client/credential.ts";
import { NO_SECRET } from "../../client/secret.ts";
import { sendRequest, type ServiceAccess } from "../../client/send-request.ts";
import { nearest } from "../../documents/nearest.ts";

import { region as regionSchema } from "../configuration/readers.ts";
import { ok, skip, type Verdict, warn } from "./check.ts";

/** Bounds the list for a person to choose from. */
const REGIONS_LIMIT = 100;

/** Checks that the service has an endpoint in the robot's region. */
export async function checkRegion(
  access: ServiceAccess,
  region: string,
  credential: Credential | null,
  signal: AbortSignal,
): Promise<Verdict> {
  const regions = await listRegions(access, credential, signal);
  if (regions === null) return skip("the service does not tell its regions");
  if (regions.length === 0) return skip("the service has no endpoints yet");
  if (regions.includes(region)) return ok(`has an endpoint in ${region}`);
  const meant = nearest(region, regions);
  const what = `the service has no endpoint in the region ${region}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
  return warn(what, `write one of these as robot.region: ${regions.join(", ")}`);
}

/**
 * The regions in which the service has endpoints, without those of an invalid format; null where it does not tell.
 *
 * @param credential none is needed; a service may want one.
 */
export async function listRegions(
  access: ServiceAccess,
  credential: Credential | null,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const url = operationUrl(access.baseUrl, "/v1/regions", {});
  const request = { method: "GET", url, body: null, answerLimitBytes: RECORD_LIMIT_BYTES } as const;
  const sent = await sendRequest(access, request, credential?.secret ?? null, signal);
  if (sent.kind === "unreachable") return null;
  const secret = credential?.secret ?? NO_SECRET;
  const result = readAnswer(sent.answer, { schema: regionListSchema, url, wallMs: sent.wallMs, secret });
  return result.kind === "ok" ? result.value.regions.filter(isRegion).slice(0, REGIONS_LIMIT) : null;
}

function isRegion(text: string): boolean {
  return regionSchema.safeParse(text).success && serviceKeyOffset(text) === -1;
}
