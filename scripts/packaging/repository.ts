import { copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

import { removeWithScript } from "../support/end-of-script.ts";
import { ProgramError, runProgram } from "../support/run-program.ts";
import { ARCHITECTURES } from "./node.ts";

const NAME = "robot-policy";
const SUITE = "stable";
const COMPONENT = "main";
/** Where a computer keeps the public key. In a file, because the apt of Debian 11 takes no key within a .sources file. */
const KEY_FILE = `/etc/apt/keyrings/${NAME}.asc`;

export interface RepositoryOptions {
  readonly folder: string;
  /** Packages to add; those of earlier calls stay. */
  readonly debs: readonly string[];
  /** A secret key of gpg(1): fingerprint, id or address. */
  readonly key: string;
  /** Where computers find the folder; without it, in this place on their own disk. */
  readonly url?: string | undefined;
}

/** @throws ProgramError when gpg has no such secret key. */
export async function findSecretKey(key: string): Promise<void> {
  await runProgram("gpg", ["--batch", "--list-secret-keys", key]);
}

/**
 * Adds packages to a signed apt repository, which is made if it is not there, for every architecture: pool/ with the packages, dists/ with the
 * index, the public key, and the .sources file for computers.
 *
 * @throws ProgramError when the repository has other content under the name of a package: computers would find another hash than the one signed.
 */
export async function publish({ folder, debs, key, url }: RepositoryOptions): Promise<void> {
  const root = resolve(folder);
  await mkdir(join(root, "pool"), { recursive: true });
  for (const deb of debs) await addToPool(join(root, "pool", basename(deb)), deb);

  const unfinished = join(root, "dists.new");
  removeWithScript(unfinished);
  await rm(unfinished, { recursive: true, force: true });
  await writeIndex(root, join(unfinished, SUITE), key);
  const publicKey = await runProgram("gpg", ["--batch", "--armor", "--export-options=export-minimal", "--export", key]);
  await writeFile(join(root, `${NAME}.asc`), publicKey);
  await writeFile(join(root, `${NAME}.sources`), sources(url ?? pathToFileURL(root).href));
  // The index last, once everything that it names is there.
  await rm(join(root, "dists"), { recursive: true, force: true });
  await rename(unfinished, join(root, "dists"));
}

async function addToPool(path: string, deb: string): Promise<void> {
  const present = await readFile(path).catch(() => null);
  if (present !== null) {
    if (present.equals(await readFile(deb))) return;
    throw new ProgramError(
      `${path} is published with other content; give the new packages a version of their own: package.json and systemd/debian/changelog`,
    );
  }
  await copyFile(deb, `${path}.new`);
  await rename(`${path}.new`, path);
}

/** Packages of each architecture, Release, and both forms of its signature. */
async function writeIndex(root: string, suite: string, key: string): Promise<void> {
  for (const architecture of ARCHITECTURES) {
    const packages = await runProgram("apt-ftparchive", ["--arch", architecture, "packages", "pool"], {
      cwd: root,
      maxBuffer: 1 << 28,
    });
    const folder = join(suite, COMPONENT, `binary-${architecture}`);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "Packages"), packages);
    await writeFile(join(folder, "Packages.gz"), gzipSync(packages, { level: 9 }));
  }
  const fields = { Origin: NAME, Label: NAME, Suite: SUITE, Codename: SUITE, Components: COMPONENT };
  const settings = Object.entries({ ...fields, Architectures: ARCHITECTURES.join(" ") });
  const options = settings.flatMap(([name, value]) => ["-o", `APT::FTPArchive::Release::${name}=${value}`]);
  await writeFile(join(suite, "Release"), await runProgram("apt-ftparchive", [...options, "release", suite]));
  const sign = ["--batch", "--yes", "--digest-algo=SHA512", "--local-user", key];
  await runProgram("gpg", [...sign, "--output", join(suite, "InRelease"), "--clearsign", join(suite, "Release")]);
  const detached = ["--armor", "--output", join(suite, "Release.gpg"), "--detach-sign", join(suite, "Release")];
  await runProgram("gpg", [...sign, ...detached]);
}

/** A file for /etc/apt/sources.list.d, deb822 as in sources.list(5). */
function sources(url: string): string {
  const lines = [
    `# With the key beside this file: install -D -m 644 ${NAME}.asc ${KEY_FILE}`,
    "Types: deb",
    `URIs: ${url}`,
    `Suites: ${SUITE}`,
    `Components: ${COMPONENT}`,
    `Signed-By: ${KEY_FILE}`,
  ];
  return `${lines.join("\n")}\n`;
}
