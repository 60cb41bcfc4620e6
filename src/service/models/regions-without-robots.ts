import type { Finding } from "../../documents/findings.ts";
import { nearest } from "../../documents/nearest.ts";
import { shown } from "../../documents/texts.ts";
import type { CatalogFile } from "./apply.ts";

/**
 * Warns of endpoint regions without robots, which are often typos: a deployment uses an endpoint only if its region equals the robot's.
 *
 * @param robotRegions regions of all robots of all organizations; if empty, there are no warnings.
 */
export function regionsWithoutRobots(
  { catalog, locate }: CatalogFile,
  robotRegions: readonly string[],
): readonly Finding[] {
  if (robotRegions.length === 0) return [];
  const told = new Set(robotRegions);
  const findings: Finding[] = [];
  for (const [model, { checkpoints }] of catalog.models.entries()) {
    for (const [checkpoint, { endpoints }] of checkpoints.entries()) {
      for (const [endpoint, { region }] of endpoints.entries()) {
        if (told.has(region)) continue;
        told.add(region);
        const near = nearest(region, robotRegions);
        const hint = near === undefined ? "" : `; did you mean ${near}?`;
        const loc = `/models/${model}/checkpoints/${checkpoint}/endpoints/${endpoint}/region`;
        const message = `no robot is in the region ${shown(region)}${hint}`;
        findings.push({ id: "region_without_robots", severity: "warning", loc, message, ...locate(loc) });
      }
    }
  }
  return findings;
}
