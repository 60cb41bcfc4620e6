/** Debian packages of this checkout. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import { execute, locked } from "./execute.ts";
import { cacheFolder } from "./nspawn-root.ts";

export const PACKAGE = "robot-policy-agent";

const root = join(import.meta.dirname, "../..");
/** What a package is made of. */
const SOURCES = ["src", "scripts", "systemd", "config", "package.json", "package-lock.json", "LICENSE"];
/** Debian's word for this machine's. */
const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "amd64";
const BUILD_LIMIT_MS = 120_000;
/** Of how many states of the sources packages are kept, of 50 MB each. */
const KEPT = 5;

/**
 * The package as `scripts/package` makes it, compressed less. Built where there is none of these sources yet, by one process alone.
 *
 * @param version another than the checkout's, to upgrade to.
 * @returns the path of the file.
 */
export async function debianPackage(version?: string): Promise<string> {
  const packages = await cacheFolder("packages");
  return locked(join(packages, "lock"), async () => {
    const sources = await digestOf(SOURCES.map((name) => join(root, name)));
    const folder = join(packages, sources, version ?? "own");
    if (!existsSync(folder)) {
      await removeOldest(packages);
      const unfinished = `${folder}.unfinished`;
      await rm(unfinished, { recursive: true, force: true });
      await mkdir(unfinished, { recursive: true });
      const flags = [
        "--arch",
        ARCHITECTURE,
        "--fast",
        "--out",
        unfinished,
        ...(version === undefined ? [] : ["--version", version]),
      ];
      await execute([join(root, "scripts/package"), ...flags], { limit_ms: BUILD_LIMIT_MS });
      await rename(unfinished, folder);
    }
    const name = (await readdir(folder)).find((each) => each.endsWith(".deb"));
    if (name === undefined) throw new Error(`scripts/package made no package in ${folder}`);
    return join(folder, name);
  });
}

/** The newest stay: another run may be at work with them. */
async function removeOldest(packages: string): Promise<void> {
  const names = (await readdir(packages)).filter((name) => name !== "lock");
  const dated = await Promise.all(
    names.map(async (name) => ({ path: join(packages, name), made_at_ms: (await stat(join(packages, name))).mtimeMs })),
  );
  const old = dated.toSorted((one, other) => other.made_at_ms - one.made_at_ms).slice(KEPT);
  for (const { path } of old) await rm(path, { recursive: true, force: true });
}

async function digestOf(paths: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const path of paths) {
    const { stdout } = await execute(["find", path, "-type", "f", "-print0"]);
    for (const file of stdout.split("\0").toSorted()) {
      if (file !== "") hash.update(`${file}\n`).update(await readFile(file));
    }
  }
  return hash.digest("hex").slice(0, 16);
}
