import { lstat, readFile, stat } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { promisify } from "node:util";
import { brotliCompress } from "node:zlib";

import { listFiles } from "./deb.ts";

/** What the size of a package is made of; a file belongs to the first share that holds it. */
const SHARES: readonly { readonly what: string; readonly holds: RegExp }[] = [
  { what: "Node", holds: /^usr\/lib\/robot-policy-agent\/node$/ },
  { what: "the agent", holds: /^usr\/(bin|lib\/robot-policy-agent)\// },
  { what: "manual pages", holds: /^usr\/share\/man\// },
  { what: "licences", holds: /^usr\/share\/doc\/.*\/(copyright|node-notices\.gz)$/ },
  { what: "units, examples, completion, rest", holds: /./ },
];

/** A table of what a package is made of, in bytes: as it lies on the robot, and as it is sent there. */
export async function describeSize(deb: string, tree: string): Promise<string> {
  const paths = (await listFiles(tree))
    .map((path) => relative(tree, path))
    .filter((path) => !path.startsWith("DEBIAN/"));
  const shares = SHARES.map(({ what }) => ({ what, paths: paths.filter((path) => shareOf(path) === what) }));
  const [node, ...others] = await Promise.all(
    shares.map(async (share, place) => ({
      what: share.what,
      installed: await installedBytes(tree, share.paths),
      // To pack Node once more would take as long as the package took: it is what remains.
      packed: place === 0 ? 0 : await packedBytes(tree, share.paths),
    })),
  );
  const { size } = await stat(deb);
  const ofOthers = others.reduce((sum, { packed }) => sum + packed, 0);
  const rows = [
    ...(node === undefined ? [] : [{ ...node, packed: size - ofOthers }]),
    ...others,
    { what: basename(deb), installed: await installedBytes(tree, paths), packed: size },
  ];
  return [
    tableLine("", "installed", "packed"),
    ...rows.map(({ what, installed, packed }) => tableLine(what, grouped(installed), grouped(packed))),
  ].join("\n");
}

function shareOf(path: string): string | undefined {
  return SHARES.find(({ holds }) => holds.test(path))?.what;
}

async function installedBytes(tree: string, paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (await lstat(join(tree, path))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** By Brotli, which comes to nearly the size of the package's xz, and which Node has. */
async function packedBytes(tree: string, paths: readonly string[]): Promise<number> {
  const contents = await Promise.all(paths.map(async (path) => contentOf(join(tree, path))));
  return (await promisify(brotliCompress)(Buffer.concat(contents))).byteLength;
}

/** Nothing of a link. */
async function contentOf(path: string): Promise<Buffer> {
  return (await lstat(path)).isFile() ? readFile(path) : Buffer.alloc(0);
}

function tableLine(what: string, ...numbers: readonly string[]): string {
  return [what.padEnd(40), ...numbers.map((number) => number.padStart(14))].join("");
}

function grouped(bytes: number): string {
  return bytes.toLocaleString("en-US");
}
