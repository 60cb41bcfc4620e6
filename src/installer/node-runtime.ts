import { dirname } from "node:path";

import type { RunProgram } from "../platform/programs.ts";
import type { Measured } from "./content.ts";
import { measure } from "./content.ts";
import type { Disk } from "./disk.ts";
import type { ElfHeader } from "./elf.ts";
import { readElf } from "./elf.ts";
import type { InstallerProblem } from "./installer.ts";
import { refusal } from "./installer.ts";
import { PROGRAM_FOLDER } from "./layout.ts";
import { findWrongNode } from "./node-version.ts";
import type { OwnProcess } from "./own-process.ts";

/** The Node that is going to run the agent. */
export type NodeRuntime =
  /** The machine's own, where it is. */
  | { readonly kind: "system"; readonly path: string }
  /** A copy that lies with the program: Nodes in home folders and in projects go away. */
  | { readonly kind: "copy"; readonly measured: Measured };

/** Where the Nodes are that are there for all, and stay. */
const SYSTEM_FOLDERS = ["/usr/bin/", "/usr/lib/", "/usr/local/bin/", "/usr/local/lib/", "/opt/"];
const LIBRARY_FOLDERS = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/"];
/** ld.so(8) looks there, and Debian's multiarch names one more folder for each architecture. */
const TRIPLETS: ReadonlyMap<string, string> = new Map([
  ["x86-64", "x86_64-linux-gnu/"],
  ["arm64", "aarch64-linux-gnu/"],
]);
const WRITABLE_BY_OTHERS = 0o022;
/** systemd itself, which every machine for the agent has: what it is built for, the machine is. */
const SYSTEMD_PATHS = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"];

export interface NodeChoice {
  /** `--node FILE`, links followed. */
  readonly given: string | null;
  readonly is_image: boolean;
}

export interface NodePlaces {
  /** Where it is installed. */
  readonly disk: Disk;
  /** Where this runs; the same but for images. */
  readonly host: Disk;
  readonly runProgram: RunProgram;
}

/**
 * Chooses the Node for the installation, and makes sure that it runs there.
 */
export async function chooseNode(
  { given, is_image }: NodeChoice,
  own: OwnProcess,
  { disk, host, runProgram }: NodePlaces,
): Promise<NodeRuntime | InstallerProblem> {
  const path = given ?? (await own.nodePath());
  if (given === null && !is_image && (await isSystemWide(path, host))) return { kind: "system", path };

  const foreign = given === null ? own.nodeLibraries().find((library) => !isSystemLibrary(library)) : undefined;
  if (foreign !== undefined) {
    return refusal({
      code: "node-not-portable",
      what: `this Node needs a library that may go away: ${foreign}`,
      where: path,
      fix: "give one that stands alone, such as that of https://nodejs.org/dist: --node FILE",
    });
  }
  if ((await host.lookThrough(path)).kind !== "file") {
    const what = "there is no Node there";
    return refusal({ code: "node-missing", what, where: path, fix: "give the file bin/node of a Node: --node FILE" });
  }
  const node = await readElf((position, length_bytes) => host.readPart(path, position, length_bytes));
  if (node === null) {
    return refusal({
      code: "not-a-node",
      what: "this is not a program for Linux",
      where: path,
      fix: "give the file bin/node of a Node for Linux: --node FILE",
    });
  }
  // The one that runs this needs no asking.
  const wrong = given === null ? null : await findWrongNode({ path, ...node }, runProgram, host);
  const unfit = wrong ?? (await findMisfit(node, path, disk));
  return unfit ?? { kind: "copy", measured: await measure({ kind: "copy", from: path }, host) };
}

/** True when nobody but root can replace it, and it lies where the system has its programs. */
async function isSystemWide(path: string, host: Disk): Promise<boolean> {
  if (path.startsWith(`${PROGRAM_FOLDER}/`) || path.includes("/node_modules/")) return false;
  if (!SYSTEM_FOLDERS.some((folder) => path.startsWith(folder))) return false;
  for (let at = path; ; at = dirname(at)) {
    const sight = await host.look(at);
    if (sight.kind !== "file" && sight.kind !== "directory") return false;
    if (sight.user_id !== 0 || (sight.mode & WRITABLE_BY_OTHERS) !== 0) return false;
    if (at === "/") return true;
  }
}

function isSystemLibrary(library: string): boolean {
  // The kernel's own has no file.
  return !library.startsWith("/") || LIBRARY_FOLDERS.some((folder) => library.startsWith(folder));
}

async function findMisfit(node: ElfHeader, path: string, disk: Disk): Promise<InstallerProblem | null> {
  const machine = await readMachine(disk);
  if (machine !== null && machine.architecture !== node.architecture) {
    return refusal({
      code: "wrong-architecture",
      what: `the Node is for ${node.architecture}, and the machine is ${machine.architecture}`,
      where: path,
      fix: `give the file bin/node of a Node for ${machine.architecture}: --node FILE`,
    });
  }
  if (node.loader !== null && (await disk.lookThrough(node.loader)).kind !== "file") {
    return refusal({
      code: "wrong-libc",
      what: `the Node needs ${node.loader}, which the machine does not have`,
      where: path,
      fix: "give the file bin/node of a Node for this distribution: --node FILE",
    });
  }
  const missing = await findMissingLibrary(node, disk);
  if (missing === null) return null;
  const package_name = missing.replace(/\.so\.(\d+).*$/, "$1");
  return refusal({
    code: "library-missing",
    what: `the Node needs the library ${missing}, which the machine does not have`,
    where: path,
    fix: `install its package there (on Debian: apt-get install ${package_name}), then run this again`,
  });
}

/** Some are in a corner that ld.so.conf(5) names; those nobody asks for here. */
async function findMissingLibrary({ libraries, architecture }: ElfHeader, disk: Disk): Promise<string | null> {
  const triplet = TRIPLETS.get(architecture);
  const folders = [...LIBRARY_FOLDERS, ...(triplet === undefined ? [] : LIBRARY_FOLDERS.map((each) => each + triplet))];
  for (const library of libraries) {
    let is_there = false;
    for (const folder of folders) is_there ||= (await disk.lookThrough(folder + library)).kind === "file";
    if (!is_there) return library;
  }
  return null;
}

/** What the machine is built for; null where systemd is not where it usually is. */
export async function readMachine(disk: Disk): Promise<ElfHeader | null> {
  for (const path of SYSTEMD_PATHS) {
    const sight = await disk.lookThrough(path);
    if (sight.kind === "file") return readElf((position, length_bytes) => disk.readPart(path, position, length_bytes));
  }
  return null;
}
