import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";

import { scratchFolder } from "../support/end-of-script.ts";
import { readRelease } from "./changelog.ts";
import { type PackageName, PACKAGES } from "./contents.ts";
import { buildDeb, writeChecksums } from "./deb.ts";
import type { Architecture, NodeRuntime } from "./node.ts";
import { writeBillOfMaterials } from "./sbom.ts";
import { buildPrograms, builtParts, layOut } from "./tree.ts";

export interface PackageOptions {
  readonly names: readonly PackageName[];
  readonly architectures: readonly Architecture[];
  /** The folder to write to. */
  readonly out: string;
  /** Replaces the version of package.json. */
  readonly version?: string | undefined;
  /** Uncompressed. */
  readonly isFast: boolean;
}

/**
 * Makes the packages and a bill of materials of each for each architecture, and checksums of all of them.
 *
 * @param findNode returns the Node to pack.
 * @returns the paths of packages and bills.
 */
export async function makePackages(
  { names, architectures, out, version, isFast }: PackageOptions,
  findNode: (architecture: Architecture) => Promise<NodeRuntime>,
): Promise<readonly string[]> {
  const folder = resolve(out);
  const work = scratchFolder("robot-policy-package-");
  const release = await readRelease(version);
  await mkdir(folder, { recursive: true });
  const build = await buildPrograms(join(work, "build"), release);
  const packages: string[] = [];
  for (const architecture of architectures) {
    console.error(`== ${architecture}${isFast ? "" : ": a minute or two for the best compression"}`);
    const node = await findNode(architecture);
    const chosen = PACKAGES.filter(({ name }) => names.includes(name));
    // At once, because each is compressed by one thread.
    const made = chosen.map(async (contents) => {
      const { name } = contents;
      const tree = join(work, architecture, name);
      const built = await builtParts(build, contents);
      await layOut({ tree, contents, build, built, node, release });
      const deb = await buildDeb({ contents, tree, out: folder, release, architecture, isFast });
      const { bundled } = built;
      return [deb, await writeBillOfMaterials({ name, deb, bundled, node, release, architecture })];
    });
    packages.push(...(await Promise.all(made)).flat());
  }
  await writeChecksums(folder, packages);
  return packages;
}
