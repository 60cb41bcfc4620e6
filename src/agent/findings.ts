import { eachOf, ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import type { ValidationError } from "../api/wire/errors.ts";
import { type Finding, pointer } from "../documents/findings.ts";
import type { FileFinding } from "../look/findings.ts";
import { contractSource, type RobotManifest } from "../manifest/manifest.ts";
import type { SettingsReading } from "../documents/read.ts";
import type { Confirmation } from "./registration/confirmation.ts";

/** A finding with the file it is about, as status, logs and `check` show it. */
export interface LocatedFinding extends Finding {
  readonly file: string;
}

export interface Document {
  readonly path: string;
  readonly reading: Pick<SettingsReading<unknown>, "findings" | "locate">;
}

/** What only the running agent can detect, without line and column; an error unless it says otherwise. */
export interface PlainFinding {
  readonly id: string;
  readonly severity?: Finding["severity"];
  readonly loc: string;
  readonly message: string;
}

export function locate(document: Document, { id, severity = "error", loc, message }: PlainFinding): LocatedFinding {
  return { id, severity, loc, message, file: document.path, ...document.reading.locate(loc) };
}

/** The document's own findings. */
export function documentFindings(document: Document): readonly LocatedFinding[] {
  return document.reading.findings.map((finding) => ({ ...finding, file: document.path }));
}

/** The findings of the fingerprinter, at the line of the manifest that lists the file. */
export function fileFindings(
  findings: readonly FileFinding[],
  manifest: Document,
  configurationFiles: RobotManifest["configuration_files"],
): readonly LocatedFinding[] {
  return findings.map(({ id, severity, message, entry }) =>
    locate(manifest, { id, severity, loc: configurationFiles[entry]?.loc ?? "/configuration_files", message }),
  );
}

/** Maps the errors of a 422 to the line of the file from which each field was built. */
export function rejectionFindings(
  errors: readonly ValidationError[],
  configuration: Document,
  manifest: Document,
): readonly LocatedFinding[] {
  return errors.map((error) => {
    const { document, loc } = sourceOf(error.loc, configuration, manifest);
    const field = error.loc.slice(1).join(".");
    const message = `the service refuses ${field === "" ? "the request" : field}: ${error.msg}`;
    return locate(document, { id: "rejected", loc, message });
  });
}

/** The source of each field of the request. */
const SOURCES: Readonly<Record<string, { readonly from: "configuration" | "manifest"; readonly loc: string }>> = {
  name: { from: "configuration", loc: "/robot/name" },
  region: { from: "configuration", loc: "/robot/region" },
  ...eachOf(ROBOT_TEXT_NAMES, (text) => ({ from: "configuration" as const, loc: `/robot/${text}` })),
  labels: { from: "configuration", loc: "/robot/labels" },
  robot_type_id: { from: "manifest", loc: "/robot_type_id" },
  configuration_digest: { from: "manifest", loc: "/configuration_files" },
};

function sourceOf(errorLoc: ValidationError["loc"], configuration: Document, manifest: Document) {
  const [, field, ...below] = errorLoc;
  if (field === "contract") return { document: manifest, loc: contractSource(below) };
  const name = String(field);
  const source = Object.hasOwn(SOURCES, name) ? SOURCES[name] : undefined;
  if (source === undefined) return { document: configuration, loc: "" };
  const document = source.from === "configuration" ? configuration : manifest;
  const deeper = field === "labels" ? pointer(below) : "";
  return { document, loc: source.loc + deeper };
}

/** A warning that another computer registers the same robot name. */
export function disputeFindings(
  { replaced, contestedSince }: Pick<Confirmation, "replaced" | "contestedSince">,
  configuration: Document,
): readonly LocatedFinding[] {
  if (replaced === null && contestedSince === null) return [];
  const what =
    replaced === null
      ? `the service reports that computers take turns registering this robot since ${contestedSince ?? ""}`
      : `another registration replaced this robot's at ${replaced.at} (${replaced.configuration_digest.slice(0, 19)}…), and this robot registered again`;
  const message = `${what}; if two computers have this name, give one of them another`;
  return [locate(configuration, { id: "replaced", severity: "warning", loc: "/robot/name", message })];
}
