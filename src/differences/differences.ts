/**
 * What changed between two registrations, said by name: one engine for robot, service and, through its answers, command line and console.
 *
 * This file compares the parts of a digest, contents.ts what is in a file, calibration.ts knows what the numbers of a calibration mean,
 * contract.ts compares contracts axis by axis, outliers.ts finds the robots of a fleet that differ from the others. Pure and bounded: no
 * clock, no disk; every text may be hostile.
 */
import type { Difference, RegistrationPart } from "../api/differences.ts";
import { diffDeviceLines, type TextDifference } from "./contents.ts";

/** Contents by their SHA-256, as far as they are shared and kept. */
export type Contents = ReadonlyMap<string, string>;

const NO_DETAILS = { details: [], omitted: 0 } as const;

/** A part, and where it is in the digest. Labels differ, but a hostile robot may repeat one: then the last counts. */
interface PlacedPart extends RegistrationPart {
  readonly index: number;
}

/** The parts that differ, in the order of the second list, then those that are gone. */
export function diffParts(
  before: readonly RegistrationPart[],
  after: readonly RegistrationPart[],
  compareContents: (before: RegistrationPart, after: RegistrationPart) => Compared,
): readonly Difference[] {
  const [old, now] = [byLabel(before), byLabel(after)];
  const isMoved = movedAmong(old, now);
  const differences: Difference[] = [];
  for (const part of now.values()) {
    const former = old.get(part.label);
    if (former === undefined) differences.push(ofPart("added", null, part));
    else if (former.sha256 !== part.sha256 || former.kind !== part.kind) {
      differences.push({ ...ofPart("changed", former, part), ...compareContents(former, part) });
    } else if (isMoved(part.label)) differences.push(ofPart("moved", former, part));
  }
  for (const part of old.values()) {
    if (!now.has(part.label)) differences.push(ofPart("removed", part, null));
  }
  return differences;
}

/** How the contents of a part differ, and whether they could be compared. */
export type Compared = Pick<Difference, "content" | "details" | "omitted">;

/** Of devices their lines; of files nothing, because their contents are elsewhere. */
export function compareLines(before: RegistrationPart, after: RegistrationPart): Compared {
  const lines = [before.line, after.line];
  if (typeof lines[0] !== "string" || typeof lines[1] !== "string") return { ...NO_DETAILS, content: null };
  return { ...diffDeviceLines(lines[0], lines[1]), content: "compared" };
}

/** Of devices their lines; of files what `diff` finds in their contents, where both are shared and kept. */
export function compareWith(contents: Contents, diff: (before: string, after: string) => TextDifference) {
  return (before: RegistrationPart, after: RegistrationPart): Compared => {
    if (before.kind === "device" || after.kind === "device") return compareLines(before, after);
    if (!before.shared || !after.shared) return { ...NO_DETAILS, content: "not_shared" };
    const [old, now] = [contents.get(before.sha256), contents.get(after.sha256)];
    if (old === undefined || now === undefined) return { ...NO_DETAILS, content: "not_kept" };
    return { ...diff(old, now), content: "compared" };
  };
}

function ofPart(
  change: Difference["change"],
  before: RegistrationPart | null,
  after: RegistrationPart | null,
): Difference {
  const part = after ?? before;
  return {
    group: "part",
    subject: part?.label ?? "",
    change,
    part_kind: part?.kind ?? null,
    before: before?.sha256 ?? null,
    after: after?.sha256 ?? null,
    ...NO_DETAILS,
    content: null,
  };
}

function byLabel(parts: readonly RegistrationPart[]): ReadonlyMap<string, PlacedPart> {
  return new Map(parts.map((part, index) => [part.label, { ...part, index }]));
}

/** Whether a part that is in both lists has another place among those that are. */
function movedAmong(old: ReadonlyMap<string, PlacedPart>, now: ReadonlyMap<string, PlacedPart>) {
  const orderBefore = [...old.keys()].filter((label) => now.has(label));
  const orderAfter = [...now.keys()].filter((label) => old.has(label));
  const placeBefore = new Map(orderBefore.map((label, index) => [label, index]));
  const moved = new Set(orderAfter.filter((label, index) => placeBefore.get(label) !== index));
  return (label: string): boolean => moved.has(label);
}

/** The labels of a registration that differ. */
export function diffLabels(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): readonly Difference[] {
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = [...new Set([...old.keys(), ...now.keys()])].toSorted();
  return names.flatMap((name) => {
    const [was, is] = [old.get(name) ?? null, now.get(name) ?? null];
    return was === is ? [] : [ofValue("label", name, was, is)];
  });
}

/** A member or label that is there, has another value, or is gone. */
export function ofValue(
  group: "member" | "label",
  subject: string,
  before: string | null,
  after: string | null,
): Difference {
  const change = before === null ? "added" : after === null ? "removed" : "changed";
  return { group, subject, change, part_kind: null, before, after, ...NO_DETAILS, content: null };
}
