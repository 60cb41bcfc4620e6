import { createHash } from "node:crypto";
import { chmod, lstat, lutimes, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";

import { SCHEMA_VERSION } from "../../src/agent/registration/state-file.ts";
import { removeWithScript } from "../support/end-of-script.ts";
import { runProgram } from "../support/run-program.ts";
import type { Release } from "./changelog.ts";
import type { PackageContents } from "./contents.ts";
import type { Architecture } from "./node.ts";

const SOURCE = join(import.meta.dirname, "../../systemd/debian");
const MAINTAINER_SCRIPTS = ["preinst", "postinst", "prerm", "postrm"];

/** The C libraries that Node needs: the newest symbol versions in it (readelf --version-info), as Debian dependencies. */
const NODE_DEPENDS = "libatomic1 (>= 4.8), libc6 (>= 2.28), libgcc-s1 (>= 4.2), libstdc++6 (>= 5.2)";

export interface DebOptions {
  readonly contents: PackageContents;
  /** The files of the package, relative to /. */
  readonly tree: string;
  /** The folder to write to. */
  readonly out: string;
  readonly release: Release;
  readonly architecture: Architecture;
  /** Uncompressed. */
  readonly isFast: boolean;
}

/**
 * Packs a tree with its maintainer scripts.
 *
 * Uses xz, because dpkg before Debian 12 does not read zstd. Every file belongs to root, whoever runs this.
 *
 * @returns the path of the package.
 */
export async function buildDeb({ contents, tree, out, release, architecture, isFast }: DebOptions): Promise<string> {
  const { name, prefix } = contents;
  const files = await listFiles(tree);
  const deb = join(out, `${name}_${release.version}_${architecture}.deb`);
  const control = await readFile(join(SOURCE, `${prefix}control`), "utf8");
  const values: Readonly<Record<string, string>> = {
    VERSION: release.version,
    ARCHITECTURE: architecture,
    NODE_DEPENDS,
    INSTALLED_SIZE: String(await installedKibibytes(files)),
    STATE_SCHEMA_VERSION: String(SCHEMA_VERSION),
  };
  const fill = (text: string) => text.replaceAll(/@([A-Z_]+)@/g, (_, key: string) => values[key] ?? `@${key}@`);

  const folder = join(tree, "DEBIAN");
  await mkdir(folder);
  await writeFile(join(folder, "control"), fill(control));
  await writeFile(join(folder, "conffiles"), conffiles(tree, files));
  await writeFile(join(folder, "md5sums"), await checksums(tree, files));
  const sources = await readdir(SOURCE);
  for (const script of MAINTAINER_SCRIPTS.filter((each) => sources.includes(prefix + each))) {
    await writeFile(join(folder, script), fill(await readFile(join(SOURCE, prefix + script), "utf8")));
    await chmod(join(folder, script), 0o755);
  }
  await normalize(tree, release.epochS);
  const compression = isFast ? ["-Znone"] : ["-Zxz", "-z9"];
  // Renamed once it is complete.
  const unfinished = `${deb}.new`;
  removeWithScript(unfinished);
  await runProgram("dpkg-deb", ["--root-owner-group", ...compression, "--build", tree, unfinished], {
    // One thread, because the result would depend on the number of threads.
    env: { PATH: process.env["PATH"], SOURCE_DATE_EPOCH: String(release.epochS), DPKG_DEB_THREADS_MAX: "1" },
  });
  await rename(unfinished, deb);
  return deb;
}

/** Writes SHA256SUMS for `sha256sum --check`. */
export async function writeChecksums(out: string, paths: readonly string[]): Promise<void> {
  const lines = await Promise.all(
    paths.toSorted().map(async (path) => `${await digest("sha256", path)}  ${basename(path)}\n`),
  );
  await writeFile(join(out, "SHA256SUMS"), lines.join(""));
}

/** Regular files and links below a folder, sorted. */
async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

/** Every file below /etc is a conffile (Debian policy 10.7.3). */
function conffiles(tree: string, files: readonly string[]): string {
  const own = files.map((path) => relative(tree, path)).filter((path) => path.startsWith("etc/"));
  return own.map((path) => `/${path}\n`).join("");
}

async function checksums(tree: string, files: readonly string[]): Promise<string> {
  const lines: string[] = [];
  for (const path of files) {
    const name = relative(tree, path);
    // Links and conffiles have none.
    if (name.startsWith("usr/bin/") || name.startsWith("etc/")) continue;
    lines.push(`${await digest("md5", path)}  ${name}\n`);
  }
  return lines.join("");
}

async function digest(algorithm: string, path: string): Promise<string> {
  return createHash(algorithm)
    .update(await readFile(path))
    .digest("hex");
}

/** Each file rounded up to KiB, as Debian counts (policy 5.6.20). */
async function installedKibibytes(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(async (path) => Math.ceil((await lstat(path)).size / 1024)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Removes what depends on the user and the time of packing: modes from the umask, and times. */
async function normalize(tree: string, epochS: number): Promise<void> {
  for (const entry of ["", ...(await readdir(tree, { recursive: true }))]) {
    const path = join(tree, entry);
    const found = await lstat(path);
    if (!found.isSymbolicLink()) await chmod(path, found.isDirectory() || (found.mode & 0o100) !== 0 ? 0o755 : 0o644);
    await lutimes(path, epochS, epochS);
  }
}
