import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";

import { scratchFolder } from "../support/end-of-script.ts";
import { readRelease } from "./changelog.ts";
import { buildDeb, writeChecksums } from "./deb.ts";
import type { Architecture, NodeRuntime } from "./node.ts";
import { writeBillOfMaterials } from "./sbom.ts";
import { buildProgram, layOut } from "./tree.ts";

export interface PackageOptions {
  readonly architectures: readonly Architecture[];
  /** The folder to write to. */
  readonly out: string;
  /** Replaces the version of package.json. */
  readonly version?: string | undefined;
  /** Uncompressed. */
  readonly isFast: boolean;
}

/**
 * Makes a package and a bill of materials for each architecture, and checksums of all of them.
 *
 * @param findNode returns the Node to pack.
 * @returns the paths of packages and bills.
 */
export async function makePackages(
  { architectures, out, version, isFast }: PackageOptions,
  findNode: (architecture: Architecture) => Promise<NodeRuntime>,
): Promise<readonly string[]> {
  const folder = resolve(out);
  const work = scratchFolder("robot-policy-package-");
  const release = await readRelease(version);
  await mkdir(folder, { recursive: true });
  const program = await buildProgram(join(work, "program"), release);
  const packages: string[] = [];
  for (const architecture of architectures) {
    console.error(`== ${architecture}${isFast ? "" : ": about a minute for the best compression"}`);
    const node = await findNode(architecture);
    const tree = join(work, architecture);
    await layOut({ tree, program, node, release, architecture });
    const deb = await buildDeb({ tree, out: folder, release, architecture, isFast: isFast });
    const bill = await writeBillOfMaterials({ deb, bundled: program.bundled, node, release, architecture });
    packages.push(deb, bill);
  }
  await writeChecksums(folder, packages);
  return packages;
}
