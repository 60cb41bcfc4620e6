import type { Credential } from "../../client/credential.ts";
import { nearest } from "../../manifest/nearest.ts";
import { REGION_FORM } from "../../manifest/registered-text.ts";
import { serviceKeyOffset } from "../../api/wire/service-key.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { REGION_LIMIT } from "../configuration/readers.ts";
import { askService } from "./asking.ts";
import type { Limit, Verdict } from "./check.ts";
import { ok, skip, warn } from "./check.ts";

/** Bounds the list for a person to choose from. */
const REGIONS_LIMIT = 100;

const UNKNOWN_REGIONS = skip("the service does not tell its regions");

/** No other check depends on this one, so no answer means skip. */
export function regionLimit({ service }: AgentConfiguration): Limit {
  return { limitMs: service.request_timeout_s * 1000, late: UNKNOWN_REGIONS };
}

/** Checks that the service has an endpoint in the robot's region. */
export async function checkRegion(
  context: CommandContext,
  { service, robot }: AgentConfiguration,
  credential: Credential,
  signal: AbortSignal,
): Promise<Verdict> {
  const result = await askService(context, service, credential, (client) => client.listRegions(signal));
  if (result.kind !== "ok") return UNKNOWN_REGIONS;
  return judgeRegion(robot.region, result.value.regions);
}

/** @param listed the service's regions; those with an invalid format are ignored. */
export function judgeRegion(region: string, listed: readonly string[]): Verdict {
  const regions = listed.filter(isRegion).slice(0, REGIONS_LIMIT);
  if (regions.length === 0) return skip("the service has no endpoints yet");
  if (listed.includes(region)) return ok(`the service has an endpoint in ${region}`);
  return { ...warn(noEndpointIn(region, regions), chooseAmong(regions)), regions };
}

export function chooseAmong(regions: readonly string[]): string {
  return `write one of these as robot.region: ${regions.join(", ")}`;
}

export function noEndpointIn(region: string, regions: readonly string[]): string {
  const meant = nearest(region, regions);
  return `the service has no endpoint in the region ${region}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
}

function isRegion(text: string): boolean {
  return text.length <= REGION_LIMIT && REGION_FORM.test(text) && serviceKeyOffset(text) === -1;
}
