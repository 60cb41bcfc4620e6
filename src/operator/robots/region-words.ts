import { beyondSpec } from "../../api/api.ts";
import { nearest } from "../../manifest/nearest.ts";
import { shown } from "../../manifest/shown.ts";
import type { Service } from "../service.ts";

/**
 * Warns that the service has no inference endpoint in this region, so that no model can serve a robot there. Null where it has one, and where
 * the service does not show endpoints or fails: the command must not fail for a warning.
 */
export async function unservedRegion(service: Service, region: string): Promise<string | null> {
  const result = await service.call(beyondSpec.listRegions, {});
  const regions = result.kind === "ok" ? result.value.value.regions : [];
  if (regions.length === 0 || regions.includes(region)) return null;
  const meant = nearest(region, regions);
  return `no endpoint is in the region ${shown(region)}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
}
