/** Entries of the list that stand for several files: `/opt/ur/meshes/*.stl`. */
import { dirname, join } from "node:path";

import { errorCode, type Files } from "../platform/files/files.ts";
import { type FileFinding, noMatch, systemErrorFinding, tooMany } from "./findings.ts";
import type { ConfigurationFile } from "./snapshot.ts";

/** How many files the patterns of a list may stand for, together. */
const MATCH_LIMIT = 512;

/** A list without patterns. With a finding it is incomplete, and there is no digest. */
export interface Expanded {
  readonly files: readonly ConfigurationFile[];
  readonly findings: readonly FileFinding[];
}

/** True for the last part of a path that stands for several names. */
export function isPattern(name: string): boolean {
  return /[*?]/.test(name);
}

/**
 * Puts the files that a pattern matches in its place, sorted by the bytes of their names. As in a shell, `*` matches no name that begins
 * with a dot. Folders are left out.
 */
export async function expandPatterns(files: Files, list: readonly ConfigurationFile[]): Promise<Expanded> {
  const expanded: ConfigurationFile[] = [];
  const findings: FileFinding[] = [];
  let count = 0;
  for (const file of list) {
    const { path, entry } = file;
    if (!isPattern(path)) {
      expanded.push(file);
      continue;
    }
    try {
      const paths = await matchesOf(files, path, MATCH_LIMIT - count);
      count += paths?.length ?? 0;
      if (paths === null) findings.push({ ...tooMany(path, MATCH_LIMIT), entry });
      else if (paths.length === 0) findings.push({ ...noMatch(path), entry });
      else expanded.push(...paths.map((each) => matched(file, each)));
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      findings.push({ ...(await systemErrorFinding(files, dirname(path), code)), entry });
    }
  }
  return { files: expanded, findings };
}

function matched(file: ConfigurationFile, path: string): ConfigurationFile {
  const { label, path: pattern } = file;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { ...file, label: label === pattern ? path : `${label} (${name})`, path, pattern };
}

/** @returns null for more than `limit` names, folders among them. */
async function matchesOf(files: Files, path: string, limit: number): Promise<readonly string[] | null> {
  const folder = dirname(path);
  const pattern = path.slice(folder === "/" ? 1 : folder.length + 1);
  const names = (await files.list(folder)).filter((name) => matches(name, pattern));
  if (names.length > limit) return null;
  const sorted = names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const paths = sorted.map((name) => join(folder, name));
  const areFolders = await Promise.all(paths.map((each) => isFolder(files, each)));
  return paths.filter((_, index) => areFolders[index] !== true);
}

/** `*` stands for any text, `?` for one character. Takes a time of length times length, whatever the pattern. */
export function matches(name: string, pattern: string): boolean {
  if (name.startsWith(".") && !pattern.startsWith(".")) return false;
  const characters = [...name];
  // Whether the part of the pattern so far matches the first n characters, for each n.
  let reached = characters.map(() => false).toSpliced(0, 0, true);
  for (const wanted of pattern) {
    const before = reached;
    reached = [];
    for (const [length, was] of before.entries()) {
      const shorter = length > 0 && before[length - 1] === true;
      if (wanted === "*") reached.push(was || reached[length - 1] === true);
      else reached.push(shorter && (wanted === "?" || wanted === characters[length - 1]));
    }
  }
  return reached.at(-1) === true;
}

function isFolder(files: Files, path: string): Promise<boolean> {
  // A file that cannot be examined has a finding when it is looked at.
  return files.stat(path).then(
    ({ kind }) => kind === "directory",
    () => false,
  );
}
