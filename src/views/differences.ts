/** What differs between registrations, and between the robots of a fleet. */
import type { Difference, Differences, FleetDifferences } from "../api/differences.ts";
import type { RegistrationRecord } from "../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import { type Column, counted, inWords } from "./view.ts";

/** Characters of a hash that are shown. */
const HASH_LENGTH = 12;

const MEMBERS: Readonly<Record<string, string>> = {
  configuration_digest: "configuration files",
  robot_type_id: "type",
  ...eachOf(ROBOT_TEXT_NAMES, inWords),
};

/** `right arm`, `label line`, `type`, `action axis arm.elbow.position`. */
export function subjectOf({ group, subject }: Pick<Difference, "group" | "subject">): string {
  if (group === "label") return `label ${subject}`;
  if (group === "member") return MEMBERS[subject] ?? subject;
  return subject.replace(/^(action|state)_axes /, "$1 axis ").replace(/^cameras /, "camera ");
}

/** `changed`, and for a value what it was and is. */
export function changeOf({ group, change, before, after }: Difference): string {
  if (change === "moved") return "has another place in the order";
  if (group !== "member" && group !== "label") return change;
  if (before === null && after === null) return change;
  if (before === null) return `added: ${after}`;
  return after === null ? `removed; it was ${before}` : `${shortened(before)} → ${shortened(after)}`;
}

/** Digests are cut. */
function shortened(value: string): string {
  return /^sha256:[0-9a-f]{64}$/.test(value) ? value.slice(0, "sha256:".length + HASH_LENGTH) : value;
}

/** What differs inside, a line each. */
export function detailsOf({
  details,
  omitted,
  content,
  before,
  after,
  part_kind: kind,
}: Difference): readonly string[] {
  const more = omitted === 0 ? [] : [`and ${counted(omitted, "more difference")}`];
  if (content !== "not_shared" && content !== "not_kept") return [...details, ...more];
  const hashes = `${before?.slice(0, HASH_LENGTH)} → ${after?.slice(0, HASH_LENGTH)}`;
  if (kind === null) return ["the contract before is not kept"];
  return content === "not_shared"
    ? [`${hashes}; with share: true in the robot's manifest, the next change shows what is in it`]
    : [`${hashes}; its content is not kept`];
}

/** What a registration changed, in a line: `right arm, top camera, label line`. */
export function changeText({ changed, contested, differences }: RegistrationRecord): string {
  if (changed === null) return "first registration on record";
  const names = differences.map((difference) => {
    const { change, group, subject, after } = difference;
    const hasValue = group === "member" && subject !== "configuration_digest" && after !== null;
    const word = change === "changed" ? "" : `${change} `;
    return `${word}${subjectOf(difference)}${hasValue ? ` (now ${after})` : ""}`;
  });
  const text = names.length === 0 ? "nothing" : names.join(", ");
  return contested ? `${text} (contested)` : text;
}

/** Why nothing, or not all, is compared; "" where all is. */
export function reservationOf({ before, parts }: Differences): string {
  if (before === null) return "No registration before this one is kept.";
  return parts === "compared"
    ? ""
    : "What the digests cover is not known: one of them was registered without an agent, or by an earlier one.";
}

type FleetPart = FleetDifferences["parts"][number];

/** Robots that are named in a line. */
const OUTLIERS_SHOWN = 5;

/** The parts of a fleet that are not equal on all. */
export const FLEET_PARTS: readonly Column<FleetPart>[] = [
  { name: "part", show: subjectOf, weight: 1 },
  { name: "most", show: mostText },
  { name: "others", show: othersOf, weight: 2 },
];

/** `39 are equal`; without a majority `40 values`. */
export function mostText({ equal, most, values }: FleetPart): string {
  return most === null ? counted(values, "value") : `${equal} ${most === "none" ? "have none" : "are equal"}`;
}

function othersOf({ outliers, omitted }: FleetPart): string {
  return someOf(
    outliers.map(({ robot, what }) => `${robot} (${what})`),
    omitted,
  );
}

/** `arm-1, arm-2 and 3 more`. @param omitted how many are not among them. */
function someOf(robots: readonly string[], omitted = 0): string {
  const named = robots.slice(0, OUTLIERS_SHOWN);
  const more = robots.length - named.length + omitted;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** `40 robots, 12 parts are equal on all.` */
export function equalText({ members, equal_parts: equal, parts }: FleetDifferences): string {
  const rest =
    parts.length === 0 ? "nothing differs" : `${counted(parts.length, "other")} differ${parts.length === 1 ? "s" : ""}`;
  return `${counted(members, "robot")}: ${counted(equal, "part")} equal on all, ${rest}.`;
}

/** The robots that did not say what their digests cover; "" for none. */
export function unknownText({ unknown }: FleetDifferences): string {
  if (unknown.length === 0) return "";
  return `${someOf(unknown)} did not tell what ${unknown.length === 1 ? "its digest covers" : "their digests cover"}.`;
}
