import { beyondSpec } from "../../api/api.ts";
import { givenTexts, REGION_EXPECTED, REGION_FORM } from "../../api/robot-texts.ts";
import type { RegistrationView } from "../../api/registrations.ts";
import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { nearest } from "../../documents/nearest.ts";
import { holdsCredentials } from "../../documents/secrets.ts";
import { shown } from "../../documents/texts.ts";
import type { Terminal } from "../../platform/terminal.ts";
import type { Service } from "../service.ts";
import type { GivenRegistration, RegistrationBody } from "./registration.ts";

/** Mistakes that the service would accept. */
export function registrationMistake(body: GivenRegistration) {
  const { region, name, labels } = body;
  if (region !== undefined && !REGION_FORM.test(region))
    return { member: "region", message: `expected ${REGION_EXPECTED}` };
  const texts = givenTexts((text) => body[text]);
  const members = Object.entries({ name, ...texts, labels: Object.values(labels ?? {}).join(" ") });
  const [member] = members.find(([, text]) => holdsCredentials(text)) ?? [];
  const message = "it holds an address with a user name or password";
  return member === undefined ? null : { member, message };
}

/** A mistyped robot type makes a robot that no model fits. */
export function warnOfType(
  { robot_type_id: robotTypeId, contract }: Pick<RegistrationView, "robot_type_id" | "contract"> | RegistrationBody,
  terminal: Terminal,
): void {
  if ((contract ?? null) !== null || READY_CATALOG.has(robotTypeId)) return;
  const hint = hintAt(robotTypeId, READY_CATALOG.keys());
  terminal.warning(`${robotTypeId} is not in the robot type catalog and has no contract${hint}.`);
  terminal.note("  Its cameras and axes stay unknown; a robot manifest describes them.");
}

/**
 * Warns that the service has no inference endpoint in this region, so that no model can serve a robot there. Says nothing where the service
 * does not show its regions, or fails: the command must not fail for a warning.
 */
export async function warnOfRegion(service: Service, region: string, terminal: Terminal): Promise<void> {
  const regions = await loadRegions(service);
  if (regions.length === 0 || regions.includes(region)) return;
  terminal.warning(`no endpoint is in the region ${shown(region)}${hintAt(region, regions)}.`);
}

async function loadRegions(service: Service): Promise<readonly string[]> {
  const result = await service.call(beyondSpec.listRegions, {});
  return result.kind === "ok" ? result.value.value.regions : [];
}

function hintAt(written: string, words: Iterable<string>): string {
  const meant = nearest(written, words);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}
