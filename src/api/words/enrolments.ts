import type { EnrolmentView } from "../enrolments.ts";
import type { IdentifiedRobotView } from "../robot-views.ts";

/** The name of a robot as an approval makes it of what was typed or requested. */
export function enrolledName(typed: string): string {
  return typed.trim().toLowerCase();
}

/** The digest of no files: computers send it that have not read theirs, as existing clients always do. */
export const DIGEST_OF_NOTHING = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** A difference between a registration and what a new computer says. */
export type EnrolmentDifference = readonly [member: string, registered: string, said: string];

/**
 * How what a computer says differs from the robot whose place it takes. Site and labels that it does not say are kept.
 *
 * @param region as it will be decided.
 * @param digest that the robot registered last; null if it is not known.
 */
export function enrolmentDifferences(
  enrolment: EnrolmentView,
  robot: IdentifiedRobotView,
  region: string,
  digest: string | null,
): readonly EnrolmentDifference[] {
  const { robot_type_id: robotTypeId, site, labels, configuration_digest: said } = enrolment;
  const rows: readonly EnrolmentDifference[] = [
    // The type stays until the computer registers.
    ["type", robot.robot_type_id, robotTypeId ?? robot.robot_type_id],
    ["region", robot.region, region],
    ["site", robot.site ?? "none", site === null || site === "" ? (robot.site ?? "none") : site],
    ["labels", labelTexts(robot.labels), labelTexts(Object.keys(labels).length === 0 ? robot.labels : labels)],
    ["digest", digest ?? said, digest === null || said === DIGEST_OF_NOTHING ? (digest ?? said) : said],
  ];
  return rows.filter(([, registered, now]) => registered !== now);
}

/** Sorted, because the order of labels means nothing. */
function labelTexts(labels: Readonly<Record<string, string>>): string {
  const texts = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return texts.length === 0 ? "none" : texts.sort().join(" ");
}
