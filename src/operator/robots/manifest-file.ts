import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { renderFindings } from "../../manifest/excerpt.ts";
import { MANIFEST_LIMIT_BYTES, readManifest, type RobotManifest } from "../../manifest/manifest.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { Loc, Places } from "../files/places.ts";
import { readGiven, type UnreadFile } from "../files/given-file.ts";
import { refuse } from "../refuse.ts";

/** A robot manifest, and the position of a 422's `loc` in it; null for a `loc` that is not from the manifest. */
interface ReadManifest {
  readonly manifest: RobotManifest;
  readonly places: Places;
}

/** @returns an exit code after reporting all findings. */
export async function readManifestFile(path: string, context: OperatorContext): Promise<ReadManifest | ExitCode> {
  const { terminal } = context;
  const bytes = await readGiven(path, MANIFEST_LIMIT_BYTES, context);
  if ("code" in bytes) return refuse(unreadable(bytes, path), EXIT.invalid, terminal);
  const { findings, manifest, locate } = await readManifest(bytes, READY_CATALOG);
  for (const text of renderFindings(findings, { path, bytes, columns: terminal.columns })) terminal.note(text);
  if (manifest === null || manifest.status === "draft") {
    if (manifest !== null) terminal.note("A draft is never registered; make its status ready.");
    return EXIT.invalid;
  }
  return { manifest, places: (loc) => placeIn(path, loc, manifest, locate) };
}

function placeIn(
  path: string,
  [, member, ...below]: Loc,
  manifest: RobotManifest,
  locate: (loc: string) => { readonly line: number; readonly column: number },
): string | null {
  const source = member === "contract" ? manifest.contractSource(below) : MANIFEST_PLACES.get(String(member));
  if (source === undefined) return null;
  const { line, column } = locate(source);
  return `${path}:${line}:${column}`;
}

/** Manifest members by request member. */
const MANIFEST_PLACES: ReadonlyMap<string, string> = new Map([
  ["robot_type_id", "/robot_type_id"],
  ["configuration_digest", "/configuration_files"],
]);

function unreadable({ code }: UnreadFile, path: string): Problem {
  const fix = "check --manifest";
  if (code === "too-large") {
    return { code: "too_large", what: `the manifest is larger than ${MANIFEST_LIMIT_BYTES} bytes`, where: path, fix };
  }
  const what = code === "ENOENT" ? "there is no such manifest" : `the manifest cannot be read (${code})`;
  return { code: "file_unreadable", what, where: path, fix };
}
