import { isDeepStrictEqual } from "node:util";

import type { RegisteredRobot } from "./find-registered.ts";
import { labelsInWords, shortDigest } from "./words.ts";

/** The body of `POST /v1/robots/setup`. */
export interface RegistrationBody {
  readonly name: string;
  readonly robot_type_id: string;
  readonly region: string;
  readonly configuration_digest: string;
  readonly site?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly contract?: object;
}

/** Which members a robot keeps if they are not given again. The service itself replaces the whole registration. */
export interface CarryOver {
  readonly clearSite: boolean;
  readonly clearLabels: boolean;
  /** With a manifest, the contract comes from it, or there is none. */
  readonly hasManifest: boolean;
}

/** Adds what the robot keeps: site and labels, and if its type stays the same, the contract. */
export function carryOver(body: RegistrationBody, before: RegisteredRobot, rules: CarryOver): RegistrationBody {
  const { site, labels, contract } = before;
  const isSameType = body.robot_type_id === before.robot_type_id;
  return {
    ...(site === null || rules.clearSite ? {} : { site }),
    ...(Object.keys(labels).length === 0 || rules.clearLabels ? {} : { labels }),
    ...(contract === undefined || contract === null || rules.hasManifest || !isSameType ? {} : { contract }),
    ...body,
  };
}

/** What changes, or may change, one line each; empty where nothing changes. */
export function changesInWords(body: RegistrationBody, before: RegisteredRobot): readonly string[] {
  const changes = [
    ["type", before.robot_type_id, body.robot_type_id],
    ["region", before.region, body.region],
    ["site", before.site ?? "none", body.site ?? "none"],
    ["labels", labelsOf(before), labelsOf(body)],
    [
      "digest",
      before.configuration_digest === undefined ? NOT_SHOWN : shortDigest(before.configuration_digest),
      shortDigest(body.configuration_digest),
    ],
    ["contract", ...contractsInWords(before.contract, body.contract ?? null)],
  ];
  return changes
    .filter(([, old, now]) => old !== now)
    .map(([name = "", old = "", now = ""]) => `${name.padEnd(WIDEST)}  ${old} → ${now}`);
}

/** What the robot keeps, for the middle of a sentence; empty for nothing. */
export function keptInWords(given: RegistrationBody, body: RegistrationBody): string {
  const kept = [
    body.site === given.site ? "" : `site ${body.site ?? ""}`,
    body.labels === given.labels ? "" : `labels ${labelsOf(body)}`,
    body.contract === given.contract ? "" : "its contract",
  ];
  return kept.filter((each) => each !== "").join(", ");
}

/** A service with only the documented operations shows neither digest nor contract. */
const NOT_SHOWN = "not shown";

const WIDEST = "contract".length;

function labelsOf({ labels }: Pick<RegistrationBody, "labels">): string {
  const told = labelsInWords({ labels: labels ?? {} });
  return told === "" ? "none" : told;
}

/** Contracts are too long to show in a line. */
function contractsInWords(before: object | null | undefined, now: object | null): readonly [string, string] {
  // Compare what is sent: JSON drops undefined members.
  if (isDeepStrictEqual(before, JSON.parse(JSON.stringify(now)))) return ["", ""];
  const after = now === null ? "none" : "from the manifest";
  if (before === undefined) return [NOT_SHOWN, after];
  return [before === null ? "none" : "as registered", after];
}
