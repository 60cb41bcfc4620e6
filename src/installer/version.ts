import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import {
  COMPLETION_FILES,
  NAME,
  PRESET_FILE,
  PROGRAM,
  UNITS,
  UNITS_FOLDER,
  versionFolder,
  VERSIONS_FOLDER,
} from "./layout.ts";
import { digestOf, ROOT_OWNER, type Source, type Tree, type WantedFile } from "./tree.ts";

/** A version of the agent, as it will be installed. */
export interface Version {
  /** Name of its folder: the version, and a digest of all its files. */
  readonly id: string;
  /** The files of its folder, which nothing uses before `current` leads there. */
  readonly files: readonly WantedFile[];
  /** Units and completion, outside the version's folder: path → text. */
  readonly placed: ReadonlyMap<string, string>;
  /** The lines of a sysusers.d(5) file. */
  readonly sysusers: string;
}

export type Completions = ReadonlyMap<keyof typeof COMPLETION_FILES, string>;

/** Beside the program, in dist/ as `scripts/build` writes it and in a version's folder. */
const SHARED = "share/systemd";
const SYSUSERS = `${SHARED}/robot-policy-agent.sysusers`;

/** How a bundle loads a package from a separate file. */
const LATE_PACKAGE = /\brequire\("\.\/([a-z-]+\.cjs)"\)/g;
const SHEBANG = /^#![^\n]*\n/;
const ID_DIGITS = 12;
/** The name of a version's folder. */
const ID = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,100}$/;

/**
 * Describes the version to install: the program that is running.
 *
 * @param programPath its launcher, links followed. @param nodePath the Node for it. @throws Node system errors, such as of a missing file.
 */
export async function describeVersion(
  name: string,
  programPath: string,
  nodePath: string,
  completions: Completions,
): Promise<Version> {
  const folder = dirname(programPath);
  const launcher = (await readFile(programPath, "utf8")).replace(SHEBANG, "");
  const sysusers = await readFile(join(folder, SYSUSERS), "utf8");
  const sources = new Map<string, Source>([["node", { kind: "copy", from: nodePath }]]);
  for (const each of [...(await findBundles(folder)), ...UNITS.map((unit) => `${SHARED}/${unit}`), SYSUSERS])
    sources.set(each, { kind: "copy", from: join(folder, each) });
  const placed = new Map<string, string>([...completions].map(([shell, text]) => [COMPLETION_FILES[shell], text]));
  for (const unit of UNITS)
    placed.set(`${UNITS_FOLDER}/${unit}`, unitText(await readFile(join(folder, SHARED, unit), "utf8")));
  placed.set(PRESET_FILE, UNITS.map((unit) => `disable ${unit}\n`).join(""));
  const digests: string[] = [];
  for (const [each, source] of sources) digests.push(`${each} ${await digestOf(source)}`);
  const all = JSON.stringify([digests, [...placed], launcher]);
  const id = `${name}-${createHash("sha256").update(all).digest("hex").slice(0, ID_DIGITS)}`;

  // Without the flag, SIGUSR1 opens Node's inspector to every local user.
  const text = `#!${versionFolder(id)}/node --disable-sigusr1\n${launcher}`;
  const files = [...sources, [NAME, { kind: "text", text }] as const].map(([each, source]) => ({
    path: `${versionFolder(id)}/${each}`,
    source,
    mode: [NAME, "node"].includes(each) ? 0o755 : 0o644,
    owner: ROOT_OWNER,
  }));
  return { id, files, placed, sysusers };
}

/** The program's bundle, and what it loads, directly or not: dist/ also holds other programs. */
async function findBundles(folder: string): Promise<readonly string[]> {
  const found = new Set([`lib/${NAME}.cjs`]);
  for (const each of found) {
    const bundle = await readFile(join(folder, each), "utf8");
    for (const [, late = ""] of bundle.matchAll(LATE_PACKAGE)) found.add(`lib/${late}`);
  }
  return [...found];
}

/** The ids of the installed versions. One that is not the current one may be incomplete. */
export async function listVersions(tree: Tree): Promise<readonly string[]> {
  return (await tree.list(VERSIONS_FOLDER)).filter((name) => ID.test(name));
}

/** @param text from the disk. @returns null for anything but the name of a version's folder. */
export function parseId(text: string | null): string | null {
  const id = (text ?? "").trim().replace(/^versions\//, "");
  return ID.test(id) ? id : null;
}

/** The shipped unit with the program's installed path, and without Documentation=: only packages install the man pages. */
function unitText(shipped: string): string {
  return shipped.replaceAll(`/usr/bin/${NAME}`, PROGRAM).replace(/^Documentation=man:.*\n/m, "");
}
