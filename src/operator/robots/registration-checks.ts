import { beyondSpec } from "../../api/api.ts";
import { givenTexts, REGION_EXPECTED, REGION_FORM } from "../../api/robot-texts.ts";
import type { RegistrationView } from "../../api/registrations.ts";
import type { RobotView } from "../../api/robot-views.ts";
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

/** Display limits; the rest is counted. */
const SHOWN = { groups: 5, names: 4 } as const;

/** Warns of registered robots in regions without an endpoint, and of types that look like a mistyped one: agents register them unasked. */
export async function warnOfRobots(service: Service, robots: readonly RobotView[]): Promise<void> {
  if (robots.length === 0) return;
  const regions = await loadRegions(service);
  const isStrange = ({ region }: RobotView) => regions.length > 0 && !regions.includes(region);
  const inRegions = Map.groupBy(robots.filter(isStrange), ({ region }) => region);
  const isMistyped = ({ robot_type_id: type }: RobotView) =>
    !READY_CATALOG.has(type) && nearest(type, READY_CATALOG.keys()) !== undefined;
  const ofTypes = Map.groupBy(robots.filter(isMistyped), ({ robot_type_id: type }) => type);
  const warnings = [
    ...[...inRegions].map(
      ([region, group]) => `no endpoint is in the region ${shown(region)}${hintAt(region, regions)}: ${namesOf(group)}`,
    ),
    ...[...ofTypes].map(
      ([type, group]) =>
        `${shown(type)} is not in the robot type catalog${hintAt(type, READY_CATALOG.keys())}: ${namesOf(group)}`,
    ),
  ];
  for (const warning of warnings.slice(0, SHOWN.groups)) service.terminal.warning(`${warning}.`);
  const more = warnings.length - SHOWN.groups;
  if (more > 0) service.terminal.note(`${more} more: robot-policy robots list --sort region, or --sort type.`);
}

function namesOf(robots: readonly RobotView[]): string {
  const more = robots.length - SHOWN.names;
  const names = robots.slice(0, SHOWN.names).map(({ name }) => name);
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function hintAt(written: string, words: Iterable<string>): string {
  const meant = nearest(written, words);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}
