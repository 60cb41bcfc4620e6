import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { nearest } from "../../manifest/nearest.ts";
import { holdsCredentials, REGION_EXPECTED, REGION_FORM } from "../../manifest/registered-text.ts";
import type { Terminal } from "../../platform/terminal.ts";
import type { Service } from "../service.ts";
import { unservedRegion } from "./region-words.ts";
import type { RegistrationBody } from "./registration-change.ts";

/** Mistakes that the service would accept. */
export function registrationMistake({ region, name, site, labels }: RegistrationBody) {
  if (!REGION_FORM.test(region)) return { member: "region", message: `expected ${REGION_EXPECTED}` };
  const members = Object.entries({ name, site: site ?? "", labels: Object.values(labels ?? {}).join(" ") });
  const [member] = members.find(([, text]) => holdsCredentials(text)) ?? [];
  const message = "it holds an address with a user name or password";
  return member === undefined ? null : { member, message };
}

/** A mistyped robot type makes a robot that no model fits. */
export function warnOfType({ robot_type_id: robotTypeId, contract }: RegistrationBody, terminal: Terminal): void {
  if (contract !== undefined || READY_CATALOG.has(robotTypeId)) return;
  const meant = nearest(robotTypeId, READY_CATALOG.keys());
  terminal.note(
    `${terminal.style("warn", "warning")}: ${robotTypeId} is not in the robot type catalog and has no contract` +
      `${meant === undefined ? "" : ` (did you mean ${meant}?)`}.`,
  );
  terminal.note("  Its cameras and axes stay unknown; --manifest FILE describes them.");
}

export async function warnOfRegion(service: Service, region: string, terminal: Terminal): Promise<void> {
  const unserved = await unservedRegion(service, region);
  if (unserved !== null) terminal.note(`${terminal.style("warn", "warning")}: ${unserved}.`);
}
