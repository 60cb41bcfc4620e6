import { renderFindings } from "../../documents/excerpt.ts";
import { contractSource, MANIFEST_LIMIT_BYTES, readManifest, type RobotManifest } from "../../manifest/manifest.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import type { Loc, Places } from "../body.ts";
import type { OperatorContext } from "../context.ts";
import { readGiven, refuseFile, shownPath, unreadable } from "../files/given-file.ts";

/** A robot manifest, and the position of a 422's `loc` in it; null for a `loc` that is not from the manifest. */
interface ReadManifest {
  readonly manifest: RobotManifest;
  readonly places: Places;
}

/** @returns an exit code after reporting all findings. */
export async function readManifestFile(
  path: string,
  json: boolean,
  context: OperatorContext,
): Promise<ReadManifest | ExitCode> {
  const { terminal } = context;
  const name = shownPath(path);
  const bytes = await readGiven(path, MANIFEST_LIMIT_BYTES, context);
  if ("code" in bytes) {
    const findings = [unreadable(bytes, MANIFEST_LIMIT_BYTES)];
    return refuseFile(findings, { name, bytes: null, json }, context).exitCode;
  }
  const { findings, value: manifest, locate } = await readManifest(bytes);
  if (manifest === null || manifest.status === "draft") {
    const refused = refuseFile(findings, { name, bytes, json }, context);
    if (manifest !== null) terminal.note("A draft is never registered; make its status ready.");
    return refused.exitCode;
  }
  for (const line of renderFindings(findings, { path: name, bytes, columns: terminal.columns })) terminal.note(line);
  return { manifest, places: (loc) => placeIn(name, loc, locate) };
}

function placeIn(
  name: string,
  [, member, ...below]: Loc,
  locate: (loc: string) => { readonly line: number; readonly column: number },
): string | null {
  const source = member === "contract" ? contractSource(below) : MANIFEST_PLACES.get(String(member));
  if (source === undefined) return null;
  const { line, column } = locate(source);
  return `${name}:${line}:${column}`;
}

/** Manifest members by request member. */
const MANIFEST_PLACES: ReadonlyMap<string, string> = new Map([
  ["robot_type_id", "/robot_type_id"],
  ["configuration_digest", "/configuration_files"],
]);
