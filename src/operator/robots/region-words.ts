import { beyondSpec } from "../../api/api.ts";
import { nearest } from "../../manifest/nearest.ts";
import { shown } from "../../manifest/shown.ts";
import type { Service } from "../service.ts";

/**
 * That no inference endpoint of the service is in this region, so that no model can serve a robot there; null where one is, or the
 * service does not tell: a warning is not worth a failure.
 */
export async function unservedRegion(service: Service, region: string): Promise<string | null> {
  const result = await service.call(beyondSpec.listRegions, {});
  const regions = result.kind === "ok" ? result.value.value.regions : [];
  if (regions.length === 0 || regions.includes(region)) return null;
  const meant = nearest(region, regions);
  return `no endpoint is in the region ${shown(region)}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
}
