/**
 * What changed between two registrations, said by name: one engine for robot, service and, through its answers, command line and console.
 *
 * This file compares the parts of a digest, contents.ts what is in a file, calibration.ts knows what the numbers of a calibration mean,
 * contract.ts compares contracts axis by axis, outliers.ts finds the robots of a fleet that differ from the others. Pure and bounded: no
 * clock, no disk; every text may be hostile.
 */
import type { Difference, RegistrationPart } from "../api/differences.ts";
import { diffDeviceLines, diffTexts } from "./contents.ts";

const NO_DETAILS = { details: [], omitted: 0 } as const;

type PartsByLabel = ReadonlyMap<string, RegistrationPart>;

/**
 * The parts that differ, in the order of the second list, then those that are gone. Of devices the lines are compared, of files nothing:
 * what is in them is elsewhere, if it is shared.
 */
export function diffParts(
  before: readonly RegistrationPart[],
  after: readonly RegistrationPart[],
): readonly Difference[] {
  const [old, now] = [byLabel(before), byLabel(after)];
  const isMoved = movedAmong(old, now);
  const differences: Difference[] = [];
  for (const part of now.values()) {
    const former = old.get(part.label);
    if (former === undefined) differences.push(ofPart("added", null, part));
    else if (former.sha256 !== part.sha256) differences.push(ofChanged(former, part));
    else if (isMoved(part.label)) differences.push(ofPart("moved", former, part));
  }
  for (const part of old.values()) {
    if (!now.has(part.label)) differences.push(ofPart("removed", part, null));
  }
  return differences;
}

function ofChanged(before: RegistrationPart, after: RegistrationPart): Difference {
  const difference = ofPart("changed", before, after);
  if (typeof before.line === "string" && typeof after.line === "string") {
    return { ...difference, ...diffDeviceLines(before.line, after.line), content: "compared" };
  }
  return { ...difference, content: before.shared && after.shared ? "not_kept" : "not_shared" };
}

/** A difference with what differs in the contents. */
export function withContents(difference: Difference, before: string, after: string): Difference {
  return { ...difference, ...diffTexts(before, after), content: "compared" };
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

/** Labels differ, but a hostile robot may repeat one: then the last counts. */
function byLabel(parts: readonly RegistrationPart[]): PartsByLabel {
  return new Map(parts.map((part) => [part.label, part]));
}

/** Whether a part that is in both lists has another place among those that are. */
function movedAmong(old: PartsByLabel, now: PartsByLabel) {
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
