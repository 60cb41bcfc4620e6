/** The files that describe a robot: its manifest, and the configuration files of its digest. */
import { renderFindings } from "../../documents/excerpt.ts";
import { configurationDigest } from "../../look/digest.ts";
import { MANIFEST_LIMIT_BYTES, readManifest, type RobotManifest } from "../../manifest/manifest.ts";
import { sha256Hex } from "../../platform/crypto.ts";
import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import { readGiven } from "../files/given-file.ts";
import { refuse } from "../refuse.ts";

/** @returns an exit code after reporting all findings, each at file:line:column. */
export async function readManifestFile(
  path: string,
  json: boolean,
  context: OperatorContext,
): Promise<RobotManifest | ExitCode> {
  const { terminal } = context;
  const bytes = await readGiven(path, MANIFEST_LIMIT_BYTES, context);
  if ("code" in bytes) return refuseUnread(path, bytes.code, terminal);
  const { findings, value: manifest } = await readManifest(bytes);
  const name = path === "-" ? "<stdin>" : path;
  for (const line of renderFindings(findings, { path: name, bytes, columns: terminal.columns })) terminal.note(line);
  if (manifest !== null && manifest.status !== "draft") return manifest;
  if (json) terminal.json({ findings: findings.map((finding) => Object.assign({ file: name }, finding)) });
  if (manifest !== null) terminal.note("A draft is never registered; make its status ready.");
  return EXIT.invalid;
}

/** The agent's default. */
const FILE_LIMIT_BYTES = 1024 ** 3;

/** The configuration digest of these files, as the agent computes it. @returns an exit code after reporting a file that cannot be read. */
export async function digestOfFiles(paths: readonly string[], context: OperatorContext): Promise<string | ExitCode> {
  const hashes: string[] = [];
  for (const path of paths) {
    const bytes = await readGiven(path, FILE_LIMIT_BYTES, context);
    if ("code" in bytes) return refuseUnread(path, bytes.code, context.terminal);
    hashes.push(sha256Hex(bytes));
  }
  return configurationDigest(hashes);
}

const REASONS: ReadonlyMap<string, readonly [code: string, what: string, fix: string]> = new Map([
  ["ENOENT", ["file_missing", "there is no such file", "correct the path"]],
  ["ENOTDIR", ["file_missing", "there is no such file", "correct the path"]],
  ["EISDIR", ["file_not_regular", "this is a folder", "name the files in it"]],
  ["EINVAL", ["file_not_regular", "this is not a regular file", "name the files themselves"]],
  ["too-large", ["file_too_large", "the file is too large", "name only files that configure the robot"]],
]);

/** @param code `too-large`, or an errno code. */
function refuseUnread(path: string, code: string, terminal: Terminal): ExitCode {
  const [id, what, fix] = REASONS.get(code) ?? [
    "file_unreadable",
    `the file cannot be read (${code})`,
    "let this user read it",
  ];
  return refuse({ code: id, what, where: path, fix }, EXIT.invalid, terminal);
}
