import { beyondSpec } from "../../api/api.ts";
import type { EnrolmentView } from "../../api/enrolments.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import { enrolledName, enrolmentDifferences } from "../../api/words/enrolments.ts";
import { differences } from "../robots/registration-change.ts";
import { shortDigest, statusText } from "../robots/words.ts";
import type { Service } from "../service.ts";

/** The robot of this name; null for a new one, "hidden" where the credential may not see robots. */
export async function findTarget(
  service: Service,
  { robot, requested_name: requestedName }: EnrolmentView,
  name: string,
): Promise<IdentifiedRobotView | null | "hidden"> {
  if (name === enrolledName(requestedName)) return robot;
  const found = await service.call(beyondSpec.getRobot, { parameters: { robot: name } });
  if (found.kind === "ok") {
    const { value } = found.value;
    // The operation accepts ids too, but `name` is never meant as an id.
    return value.name === name ? value : null;
  }
  return found.kind === "refused" && found.status === 404 ? null : "hidden";
}

/** Shows whether the name is taken, and what the approval changes of that robot. */
export async function noteTarget(
  service: Service,
  enrolment: EnrolmentView,
  target: IdentifiedRobotView | null | "hidden",
  decided: { readonly name: string; readonly region: string },
): Promise<void> {
  const { terminal } = service;
  if (target === "hidden") {
    terminal.note(`This credential may not see whether a robot ${decided.name} exists.`);
    return;
  }
  if (target === null) {
    terminal.note(`This adds the robot ${decided.name}.`);
    return;
  }
  const status = statusText(target, service.nowMs());
  terminal.note(`The robot ${target.name} exists (${target.id})${status === "" ? "" : `: ${status}`}.`);
  const digest = await registeredDigest(service, target.id);
  const changes = enrolmentDifferences(enrolment, target, decided.region, digest).map(([member, registered, said]) =>
    member === "digest"
      ? ([member, shortDigest(registered), shortDigest(said)] as const)
      : ([member, registered, said] as const),
  );
  if (changes.length > 0) terminal.note("What the new computer says differs from its registration:");
  for (const change of differences(changes)) terminal.note(`  ${change}`);
}

/** Null where the service or the credential does not show it: the approval needs no registration. */
async function registeredDigest(service: Service, robot: string): Promise<string | null> {
  const result = await service.call(beyondSpec.getRegistration, { parameters: { robot } });
  return result.kind === "ok" ? result.value.value.configuration_digest : null;
}
