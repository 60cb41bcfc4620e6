/** Which robots of a fleet differ from the others, part by part. */
import type { FleetDifferences, RegistrationPart } from "../api/differences.ts";
import { parseJson } from "../platform/text/parse-json.ts";

type FleetPart = FleetDifferences["parts"][number];
type Subject = Pick<FleetPart, "group" | "subject" | "part_kind">;

interface Robot {
  readonly robot_id: string;
  readonly robot: string;
}

/** A robot, and what it has. */
export interface Member extends Robot {
  /** Members of its registration by name. */
  readonly members: Readonly<Record<string, string | null>>;
  /** Null where it did not say. */
  readonly parts: readonly RegistrationPart[] | null;
}

/** Outliers that are named of each part. */
const OUTLIERS_MAXIMUM = 20;
/** Parts that are named. */
const PARTS_MAXIMUM = 200;
/** Characters of a hash that are shown. */
const HASH_LENGTH = 12;
const NONE = "none";

/** Collects members one by one, so that a fleet of a thousand is never in memory as a whole. */
export function createOutliers() {
  /** By subject, then by value. */
  const tables = new Map<string, { readonly subject: Subject; readonly robots: Map<string, Robot[]> }>();
  const known: Robot[] = [];
  const unknown: string[] = [];
  let count = 0;

  function note(subject: Subject, value: string, { robot_id, robot }: Robot): void {
    const key = JSON.stringify([subject.group, subject.subject]);
    const table = tables.get(key) ?? { subject, robots: new Map() };
    const robots = table.robots.get(value) ?? [];
    robots.push({ robot_id, robot });
    table.robots.set(value, robots);
    tables.set(key, table);
  }

  return {
    add(member: Member): void {
      count += 1;
      for (const [name, value] of Object.entries(member.members)) {
        note({ group: "member", subject: name, part_kind: null }, value ?? NONE, member);
      }
      if (member.parts === null) {
        unknown.push(member.robot);
        return;
      }
      known.push({ robot_id: member.robot_id, robot: member.robot });
      for (const part of member.parts) {
        note({ group: "part", subject: part.label, part_kind: part.kind }, comparedValue(part), member);
      }
    },
    result(): FleetDifferences {
      const parts: FleetPart[] = [];
      let equalParts = 0;
      for (const { subject, robots } of tables.values()) {
        if (subject.group === "part") addMissing(robots, known);
        if (robots.size === 1) equalParts += 1;
        else parts.push(describe(subject, robots));
      }
      const ordered = parts.toSorted((one, other) => rank(one) - rank(other));
      return { members: count, unknown, parts: ordered.slice(0, PARTS_MAXIMUM), equal_parts: equalParts };
    },
  };
}

/** Few outliers first; what each robot has of its own last. */
function rank({ outliers, omitted }: FleetPart): number {
  return outliers.length === 0 ? Number.POSITIVE_INFINITY : outliers.length + omitted;
}

/** The robots that said what their digest covers, without this part. */
function addMissing(robots: Map<string, Robot[]>, known: readonly Robot[]): void {
  const having = new Set([...robots.values()].flat().map(({ robot_id: id }) => id));
  const missing = known.filter(({ robot_id: id }) => !having.has(id));
  if (missing.length > 0) robots.set(NONE, missing);
}

function describe(subject: Subject, robots: ReadonlyMap<string, readonly Robot[]>): FleetPart {
  const byCount = [...robots].toSorted(([, one], [, other]) => other.length - one.length);
  const most = byCount[0]?.[1].length ?? 0;
  const total = byCount.reduce((sum, [, each]) => sum + each.length, 0);
  // Without a majority no robot is the odd one: calibrations and serial numbers are each robot's own.
  const hasMajority = most * 2 > total;
  const others = hasMajority ? byCount.slice(1) : [];
  const outliers = others.flatMap(([value, each]) => each.map((robot) => ({ ...robot, what: shown(value) })));
  return {
    ...subject,
    equal: most,
    most: hasMajority ? shown(byCount[0]?.[0] ?? "") : null,
    typical: hasMajority ? (byCount[0]?.[1][0]?.robot ?? null) : null,
    values: byCount.length,
    outliers: outliers.slice(0, OUTLIERS_MAXIMUM),
    omitted: Math.max(0, outliers.length - OUTLIERS_MAXIMUM),
  };
}

/** What is compared: of a device its model, because each has a serial number and a port of its own. */
export function comparedValue({ kind, line, sha256 }: RegistrationPart): string {
  const facts = kind === "device" && typeof line === "string" ? parseJson(line) : undefined;
  if (typeof facts !== "object" || facts === null) return sha256;
  const own = new Set(["serial", "port"]);
  return JSON.stringify(Object.fromEntries(Object.entries(facts).filter(([name]) => !own.has(name))));
}

function shown(value: string): string {
  return /^[0-9a-f]{64}$/.test(value) ? value.slice(0, HASH_LENGTH) : value;
}
