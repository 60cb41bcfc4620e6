import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";

import { type InstallerProblem, refusal } from "./errors.ts";
import {
  COMPLETION_FILES,
  FIRST_BOOT_UNIT,
  NAME,
  PLACED_FILES,
  PROGRAM,
  SERVICE_UNIT,
  UNITS_FOLDER,
  versionFolder,
  VERSIONS_FOLDER,
} from "./layout.ts";
import { digestOf, ROOT_OWNER, type Source, type Tree, type WantedFile } from "./tree.ts";

/** A version of the agent, as it will be installed. */
export interface Version {
  readonly kind: "version";
  /** Name of its folder: the version, and a digest of all its files. */
  readonly id: string;
  /** The files of its folder, which nothing uses before `current` leads there. */
  readonly files: readonly WantedFile[];
  readonly placed: Placed;
  /** The lines of a sysusers.d(5) file. */
  readonly sysusers: string;
}

/** Units and completion, outside the version's folder: path → text. */
export type Placed = ReadonlyMap<string, string>;
export type Completions = ReadonlyMap<keyof typeof COMPLETION_FILES, string>;

/** Beside the program, in dist/ as `scripts/build` writes it and in a version's folder. */
const SYSUSERS = "share/systemd/robot-policy-agent.sysusers";
const SERVICE = `share/systemd/${SERVICE_UNIT}`;
const FIRST_BOOT = `share/systemd/${FIRST_BOOT_UNIT}`;

const TEXT_LIMIT_BYTES = 1024 * 1024;
const BUNDLE_LIMIT_BYTES = 32 * 1024 * 1024;
/** How a bundle loads a package from a separate file. */
const LATE_PACKAGE = /\brequire\("\.\/([a-z-]+\.cjs)"\)/g;
const SHEBANG = /^#![^\n]*\n/;
/** In a version's folder: a copy of each file that it puts elsewhere, under the same path. */
const PLACED_FOLDER = "files";
const ID_DIGITS = 12;
/** The name of a version's folder. */
const ID = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,100}$/;

/** The program that is running, as it lies in dist/ or in an installation. */
interface Shipped {
  readonly kind: "shipped";
  readonly folder: string;
  readonly launcher: string;
  /** The files of lib/ that it needs. */
  readonly bundles: readonly string[];
  /** The texts of share/, by name. */
  readonly shared: ReadonlyMap<string, string>;
}

/**
 * Describes the version to install: the program that is running.
 *
 * @param programPath its launcher, links followed. @param nodePath the Node for it.
 */
export async function describeVersion(
  name: string,
  programPath: string,
  nodePath: string,
  completions: Completions,
  host: Tree,
): Promise<Version | InstallerProblem> {
  const shipped = await readShipped(programPath, host);
  if (shipped.kind === "problem") return shipped;
  const { folder, launcher, bundles, shared } = shipped;
  const placed = new Map<string, string>([
    [`${UNITS_FOLDER}/${SERVICE_UNIT}`, unitText(shared.get(SERVICE) ?? "")],
    [`${UNITS_FOLDER}/${FIRST_BOOT_UNIT}`, unitText(shared.get(FIRST_BOOT) ?? "")],
    ...[...completions].map(([shell, text]) => [COMPLETION_FILES[shell], text] as const),
  ]);
  const sources = new Map<string, Source>([["node", { kind: "copy", from: nodePath }]]);
  for (const each of bundles) sources.set(each, { kind: "copy", from: join(folder, each) });
  for (const [each, text] of shared) sources.set(each, { kind: "text", text });
  for (const [path, text] of placed) sources.set(`${PLACED_FOLDER}${path}`, { kind: "text", text });
  const digests = new Map<string, string>();
  for (const [each, source] of sources) digests.set(each, await digestOf(source));
  const all = JSON.stringify([...digests, launcher.replace(SHEBANG, "")]);
  const id = `${name}-${createHash("sha256").update(all).digest("hex").slice(0, ID_DIGITS)}`;

  // Without the flag, SIGUSR1 opens Node's inspector to every local user.
  const shebang = `#!${versionFolder(id)}/node --disable-sigusr1\n`;
  const program: Source = { kind: "text", text: launcher.replace(SHEBANG, shebang) };
  sources.set(NAME, program);
  digests.set(NAME, await digestOf(program));
  const files = [...sources].map(([each, source]) => ({
    path: `${versionFolder(id)}/${each}`,
    source,
    sha256: digests.get(each) ?? "",
    mode: [NAME, "node"].includes(each) ? 0o755 : 0o644,
    owner: ROOT_OWNER,
  }));
  return { kind: "version", id, files, placed, sysusers: shared.get(SYSUSERS) ?? "" };
}

async function readShipped(programPath: string, host: Tree): Promise<Shipped | InstallerProblem> {
  const folder = dirname(programPath);
  const isLauncher = [NAME, `${NAME}.cjs`].includes(basename(programPath));
  if (!isLauncher || !(await host.isFolder(join(folder, "lib")))) {
    return refusal({
      code: "not-built",
      what: "this is run from source, and only the built program can be installed",
      where: programPath,
      fix: `npm run build, then: sudo node_modules/.bin/node dist/${NAME}.cjs install`,
    });
  }
  const launcher = await host.readText(programPath, TEXT_LIMIT_BYTES);
  if (launcher === null || !SHEBANG.test(launcher)) return incomplete(programPath);
  const shared = new Map<string, string>();
  for (const each of [SYSUSERS, SERVICE, FIRST_BOOT]) {
    const text = await host.readText(join(folder, each), TEXT_LIMIT_BYTES);
    if (text === null) return incomplete(join(folder, each));
    shared.set(each, text);
  }
  // The bundle, and what it loads, directly or not: dist/ also holds other programs.
  const names = new Set([`${NAME}.cjs`]);
  for (const each of names) {
    const path = join(folder, "lib", each);
    const bundle = await host.readText(path, BUNDLE_LIMIT_BYTES);
    if (bundle === null) return incomplete(path);
    for (const [, late = ""] of bundle.matchAll(LATE_PACKAGE)) names.add(late);
  }
  return { kind: "shipped", folder, launcher, bundles: [...names].map((each) => `lib/${each}`), shared };
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

/** What an installed version puts outside its folder, from its copies. */
export async function readPlaced(tree: Tree, id: string): Promise<Placed> {
  const placed = new Map<string, string>();
  for (const path of PLACED_FILES) {
    const text = await tree.readText(`${versionFolder(id)}/${PLACED_FOLDER}${path}`, TEXT_LIMIT_BYTES);
    if (text !== null) placed.set(path, text);
  }
  return placed;
}

/** The shipped unit with the program's installed path, and without Documentation=: only packages install the man pages. */
function unitText(shipped: string): string {
  return shipped.replaceAll(`/usr/bin/${NAME}`, PROGRAM).replace(/^Documentation=man:.*\n/m, "");
}

function incomplete(where: string): InstallerProblem {
  return refusal({
    code: "incomplete-program",
    what: "a part of the program is missing",
    where,
    fix: "unpack the whole folder again; in a checkout: npm run build",
  });
}

/** What is to do outside the version's folder: path → text to write; null for a file of another version, to remove. */
export async function findMisplaced(tree: Tree, placed: Placed): Promise<ReadonlyMap<string, string | null>> {
  const misplaced = new Map<string, string | null>();
  for (const path of PLACED_FILES) {
    const wanted = placed.get(path) ?? null;
    if ((await tree.readText(path, TEXT_LIMIT_BYTES)) !== wanted) misplaced.set(path, wanted);
  }
  return misplaced;
}

export async function placeFile(tree: Tree, path: string, text: string | null): Promise<void> {
  if (text === null) await tree.remove(path);
  else await tree.writeFile({ path, source: { kind: "text", text }, mode: 0o644, owner: ROOT_OWNER });
}
