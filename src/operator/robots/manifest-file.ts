import { renderFindings } from "../../documents/excerpt.ts";
import type { Finding } from "../../documents/findings.ts";
import { contractSource, MANIFEST_LIMIT_BYTES, readManifest, type RobotManifest } from "../../manifest/manifest.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import type { Loc, Places } from "../body.ts";
import type { OperatorContext } from "../context.ts";
import { readGiven, type UnreadFile } from "../files/given-file.ts";

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
  const name = path === "-" ? "<stdin>" : path;
  const bytes = await readGiven(path, MANIFEST_LIMIT_BYTES, context);
  if ("code" in bytes) {
    return refuseFile([unreadable(bytes)], { name, bytes: null, json }, context);
  }
  const { findings, value: manifest, locate } = await readManifest(bytes);
  if (manifest === null || manifest.status === "draft") {
    const refused = refuseFile(findings, { name, bytes, json }, context);
    if (manifest !== null) terminal.note("A draft is never registered; make its status ready.");
    return refused;
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

/** Reports what is wrong with a file, each at file:line:column. */
function refuseFile(
  findings: readonly Finding[],
  { name, bytes, json }: { readonly name: string; readonly bytes: Uint8Array | null; readonly json: boolean },
  { terminal }: OperatorContext,
): ExitCode {
  for (const line of renderFindings(findings, { path: name, bytes, columns: terminal.columns })) terminal.note(line);
  if (json) terminal.json({ findings: findings.map((finding) => Object.assign({ file: name }, finding)) });
  return EXIT.invalid;
}

type Reason = readonly [id: string, message: string];

const MISSING: Reason = ["file_missing", "there is no such file; correct the path"];
const CLOSED: Reason = ["file_unreadable", "this user may not read the file; give it read permission"];
const REASONS: ReadonlyMap<string, Reason> = new Map<string, Reason>([
  ["ENOENT", MISSING],
  ["ENOTDIR", MISSING],
  ["EACCES", CLOSED],
  ["EPERM", CLOSED],
  ["EISDIR", ["file_not_regular", "this is a folder"]],
  ["EINVAL", ["file_not_regular", "this is not a regular file"]],
]);

/** Why a file cannot be used. */
function unreadable({ code }: UnreadFile): Finding {
  const [id, message] =
    code === "too-large"
      ? ["too_large", `the file is larger than ${MANIFEST_LIMIT_BYTES} bytes`]
      : (REASONS.get(code) ?? ["file_unreadable", `the file cannot be read (${code})`]);
  return { id, severity: "error", loc: "", message, line: 1, column: 1 };
}
