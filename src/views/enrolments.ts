/** What operators see of the computers that wait for approval. */
import type { EnrolmentView } from "../api/enrolments.ts";
import { DIGEST_OF_NOTHING } from "../api/robot-texts.ts";
import type { IdentifiedRobotView } from "../api/robot-views.ts";
import { presenceOf } from "./robots.ts";
import { type Column, exact, future, inWords, labelTexts, past, present, type View } from "./view.ts";

export const ENROLMENTS: View<EnrolmentView> = {
  noun: "enrolment",
  columns: [
    { name: "code", show: ({ user_code: userCode }) => exact(userCode) },
    { name: "name", show: ({ requested_name: name }) => name, weight: 1.2 },
    { name: "robot", show: robotOf },
    { name: "site", show: ({ site }) => site },
    { name: "from", show: ({ address }) => address },
    { name: "region", show: ({ region }) => region, from: "wide" },
    { name: "type", show: ({ robot_type_id: type }) => type, from: "wide" },
    { name: "started", show: ({ created_at: at }) => past(at), first: "down" },
    { name: "expires", show: ({ expires_at: at }) => future(at), from: "wide" },
    { name: "key", show: ({ key_fingerprint: key }) => exact(key), from: "medium" },
  ],
  filters: [{ name: "site", valuesOf: ({ site }) => present(site) }],
  factsOf: (enrolment) => [
    ["code", exact(enrolment.user_code)],
    ["key", exact(enrolment.key_fingerprint)],
    ["from", enrolment.address],
    ["asks for", enrolment.requested_name],
    ["region", enrolment.region ?? "not known"],
    ["site", enrolment.site],
    ["type", enrolment.robot_type_id],
    ["labels", { kind: "labels", labels: enrolment.labels }],
    ["started", past(enrolment.created_at)],
    ["expires", future(enrolment.expires_at)],
  ],
  empty: "No robot waits for approval",
};

/** Whether the robot is there already. */
function robotOf({ robot }: EnrolmentView): string {
  if (robot === null) return "new";
  const presence = presenceOf(robot);
  return presence === null ? "exists" : `exists, ${inWords(presence)}`;
}

/** One of many, in a line: who it asks to be, whether that is there, and where it is. */
export function enrolmentLine(enrolment: EnrolmentView): string {
  const { requested_name: name, site, address } = enrolment;
  const where = [robotOf(enrolment), site ?? "", `from ${address}`].filter((text) => text !== "").join(", ");
  return `${enrolledName(name)} (${where})`;
}

/** The name of a robot as an approval makes it of what was typed or requested. */
export function enrolledName(typed: string): string {
  return typed.trim().toLowerCase();
}

/** Why an enrolment is approved alone, in the middle of a sentence; null where it can be one of many. */
export function aloneBecause({ robot, region }: EnrolmentView): string | null {
  if (robot?.status === "online") return `${robot.name} is online on another computer`;
  return region === null ? "the computer did not say its region" : null;
}

/** A difference between a registration and what a new computer says. */
export type EnrolmentDifference = readonly [member: string, registered: string, said: string];

export const DIFFERENCES: readonly Column<EnrolmentDifference>[] = [
  { name: "what", show: ([member]) => member },
  { name: "registered", show: ([, registered]) => registered },
  { name: "new computer", show: ([, , said]) => said },
];

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
    ["labels", sorted(robot.labels), sorted(Object.keys(labels).length === 0 ? robot.labels : labels)],
    ["digest", digest ?? said, digest === null || said === DIGEST_OF_NOTHING ? (digest ?? said) : said],
  ];
  return rows.filter(([, registered, now]) => registered !== now);
}

/** The order of labels means nothing. */
function sorted(labels: Readonly<Record<string, string>>): string {
  return labelTexts(labels).toSorted().join(" ") || "none";
}
