/** Debian packages of this checkout. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import manifest from "../../../package.json" with { type: "json" };
import { pageBlock } from "../documents/blocks.ts";
import { commandsOf } from "../documents/commands.ts";
import { execute, locked } from "../programs/execute.ts";
import { cacheFolder } from "./root.ts";

export const PACKAGE = "robot-policy-agent";
/** The package of the operator's program and the service. */
export const SECOND_PACKAGE = "robot-policy";
/** The programs of each, below /usr/lib/PACKAGE/lib. */
const PROGRAMS = { [PACKAGE]: [PACKAGE], [SECOND_PACKAGE]: ["robot-policy", "robot-policy-service"] } as const;
/** Version of the package to upgrade to. */
export const NEWER_VERSION = "9.0.0";

const root = join(import.meta.dirname, "../../..");
/** Sources that determine the content of a package. */
const SOURCES = ["src", "scripts", "systemd", "config", "package.json", "package-lock.json", "LICENSE"];
/** Debian's name for this machine's architecture. */
const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "amd64";
/** A build takes seconds on an idle machine; the first one also downloads Node. */
const BUILD_LIMIT_MS = 600_000;
/** Number of cached source states, at 600 MB each. */
const KEPT = 2;

/** Path of the package on a disk with its layer. */
const STICK = "media";

/** Builds of this process, by version. */
const made = new Map<string, Promise<DebianPackage>>();

export interface DebianPackage {
  /** Path of the .deb file. */
  readonly file: string;
  /** Disk layer that contains both packages, so that nothing is copied. */
  readonly layer: string;
  /** Path of the .deb file on a disk with the layer. */
  readonly path: string;
  /** The second package of this version, in the same layer. */
  readonly second: { readonly file: string; readonly path: string };
}

/**
 * The agent's package, and the second one, as `scripts/package` makes them, uncompressed. Cached by the state of the sources; a lock ensures that one process builds it.
 *
 * @param version overrides the version of the checkout, for upgrades.
 */
export function debianPackage(version: string = manifest.version): Promise<DebianPackage> {
  const path = made.get(version) ?? findOrMake(version);
  made.set(version, path);
  return path;
}

async function findOrMake(version: string): Promise<DebianPackage> {
  const own = version === manifest.version ? null : await debianPackage();
  const packages = await cacheFolder("package-layers");
  return locked(join(packages, "lock"), async () => {
    const sources = await digestOf(SOURCES.map((name) => join(root, name)));
    const layer = join(packages, sources, version);
    const [path, secondPath] = [pathOf(PACKAGE, version), pathOf(SECOND_PACKAGE, version)];
    if (!existsSync(layer)) {
      await removeOldest(packages);
      const unfinished = `${layer}.unfinished`;
      await rm(unfinished, { recursive: true, force: true });
      await mkdir(join(unfinished, STICK), { recursive: true });
      if (own === null) {
        await makePackages(join(unfinished, STICK));
      } else {
        await makeOtherVersion(own.file, PACKAGE, version, join(unfinished, path));
        await makeOtherVersion(own.second.file, SECOND_PACKAGE, version, join(unfinished, secondPath));
      }
      await rename(unfinished, layer);
    }
    const second = { file: join(layer, secondPath), path: secondPath };
    return { file: join(layer, path), layer, path, second };
  });
}

function pathOf(name: string, version: string): string {
  return `/${STICK}/${name}_${version}_${ARCHITECTURE}.deb`;
}

async function makePackages(folder: string): Promise<void> {
  const [[script = "", ...flags] = []] = commandsOf(await pageBlock("README.md: scripts/package --arch amd64"));
  const own = flags.map((word) => word.replace("amd64", ARCHITECTURE));
  await execute([join(root, script), ...own, "--fast", "--out", folder], { limitMs: BUILD_LIMIT_MS });
}

/** Changes the version of a built package, as `scripts/package --version` does: in its control file and once in each program. */
async function makeOtherVersion(own: string, name: keyof typeof PROGRAMS, version: string, deb: string): Promise<void> {
  const tree = `${deb}.tree`;
  await execute(["dpkg-deb", "--raw-extract", own, tree]);
  await replaceOnce(join(tree, "DEBIAN/control"), `Version: ${manifest.version}\n`, `Version: ${version}\n`);
  for (const each of PROGRAMS[name]) {
    const program = join(tree, `usr/lib/${name}/lib/${each}.cjs`);
    const before = await md5Of(program);
    await replaceOnce(program, `version:"${manifest.version}"`, `version:"${version}"`);
    await replaceOnce(join(tree, "DEBIAN/md5sums"), before, await md5Of(program));
  }
  await execute(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, deb], { limitMs: BUILD_LIMIT_MS });
  await rm(tree, { recursive: true });
}

async function replaceOnce(path: string, from: string, to: string): Promise<void> {
  const parts = (await readFile(path, "utf8")).split(from);
  if (parts.length !== 2) throw new Error(`${path} has ${from.trim()} ${parts.length - 1} times, not once`);
  await writeFile(path, parts.join(to));
}

async function md5Of(path: string): Promise<string> {
  return createHash("md5")
    .update(await readFile(path))
    .digest("hex");
}

/** Keeps the newest, because another run may use them. */
async function removeOldest(packages: string): Promise<void> {
  const names = (await readdir(packages)).filter((name) => name !== "lock");
  const dated = await Promise.all(
    names.map(async (name) => ({ path: join(packages, name), madeAtMs: (await stat(join(packages, name))).mtimeMs })),
  );
  const old = dated.toSorted((one, other) => other.madeAtMs - one.madeAtMs).slice(KEPT);
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
