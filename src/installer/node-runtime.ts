import { dirname, join } from "node:path";

import type { RunProgram } from "../platform/programs.ts";
import { measure, type Measured } from "./disk/content.ts";
import type { Disk } from "./disk/disk.ts";
import { type InstallerProblem, type OwnProcess, refusal } from "./installer.ts";
import { PROGRAM_FOLDER } from "./layout.ts";

/** The Node that the installed agent uses. */
export type NodeRuntime =
  /** The machine's own, in place. */
  | { readonly kind: "system"; readonly path: string }
  /** A copy beside the program, because a Node in a home folder or a project may disappear. */
  | { readonly kind: "copy"; readonly measured: Measured };

/** Where Nodes are installed for all users. */
const SYSTEM_FOLDERS = ["/usr/bin/", "/usr/lib/", "/usr/local/bin/", "/usr/local/lib/", "/opt/"];
const LIBRARY_FOLDERS = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/"];
const WRITABLE_BY_OTHERS = 0o022;
/** Every supported machine has systemd, whose ELF header tells the machine's architecture. */
const SYSTEMD_PATHS = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"];

/** elf(5): e_machine, little-endian. */
const ELF_MAGIC = "\x7fELF";
const MACHINE_POSITION = 18;
const ARCHITECTURES: ReadonlyMap<number, string> = new Map([
  [3, "x86"],
  [40, "arm"],
  [62, "x86-64"],
  [183, "arm64"],
  [243, "riscv64"],
]);

/** As `engines` in package.json. */
const OLDEST_NODE = 24;
const RUN_LIMIT_MS = 20_000;
/** What `node --version` prints. */
const VERSION = /^v(\d+)\.\d+\.\d+\S*\n$/;

export interface NodeChoice {
  /** `--node FILE`, links resolved. */
  readonly given: string | null;
  readonly isImage: boolean;
}

export interface NodePlaces {
  /** The tree that it is installed into. */
  readonly disk: Disk;
  /** This machine: the same tree, except for an image. */
  readonly host: Disk;
}

/** Chooses the Node to install, and refuses one for another architecture. */
export async function chooseNode(
  { given, isImage }: NodeChoice,
  own: OwnProcess,
  { disk, host }: NodePlaces,
): Promise<NodeRuntime | InstallerProblem> {
  const path = given ?? (await own.nodePath());
  if (given === null && !isImage && (await isSystemWide(path, host))) return { kind: "system", path };

  const foreign = given === null ? own.nodeLibraries().find((library) => !isSystemLibrary(library)) : undefined;
  if (foreign !== undefined) {
    return refusal({
      code: "node-not-portable",
      what: `this Node needs a library that may go away: ${foreign}`,
      where: path,
      fix: "give a self-contained Node, such as one from https://nodejs.org/dist: --node FILE",
    });
  }
  if ((await host.lookThrough(path)).kind !== "file") {
    const what = "there is no such file";
    return refusal({ code: "node-missing", what, where: path, fix: "give the file bin/node of a Node: --node FILE" });
  }
  const architecture = await readArchitecture(host, path);
  if (architecture === null) return notANode("this file is not a Linux executable", path);
  const machine = await readMachineArchitecture(disk);
  if (machine !== null && machine !== architecture) {
    return refusal({
      code: "wrong-architecture",
      what: `this Node is for ${architecture}, but the machine is ${machine}`,
      where: path,
      fix: `give the file bin/node of a Node for ${machine}: --node FILE`,
    });
  }
  return { kind: "copy", measured: await measure({ kind: "copy", from: path }, host) };
}

/**
 * Runs the copied Node where it was installed, in an image with chroot(8), and reads its version. Finds missing libraries and a wrong libc.
 * A Node for another architecture than this machine's cannot be run, and is accepted untested.
 *
 * @param path inside the tree.
 */
export async function tryNode(
  path: string,
  { disk, host }: NodePlaces,
  runProgram: RunProgram,
): Promise<InstallerProblem | null> {
  if ((await readArchitecture(disk, path)) !== (await readMachineArchitecture(host))) return null;
  const words = disk.root === "/" ? [path] : ["chroot", disk.root, path];
  const result = await runProgram([...words, "--version"], { limitMs: RUN_LIMIT_MS });
  // Without chroot(8) the test is skipped.
  if (result.kind === "missing") return null;
  const where = join(disk.root, path);
  if (result.kind !== "ended") return notANode("this program cannot be started", where);
  const [, major] = VERSION.exec(result.stdout) ?? [];
  if (major === undefined) {
    const line = result.stderr.split("\n").find((text) => text.trim() !== "");
    return notANode(`this Node does not start: ${line ?? `exit code ${result.exitCode}`}`, where);
  }
  if (Number(major) >= OLDEST_NODE) return null;
  const fix = `give the file bin/node of a Node ${OLDEST_NODE} or newer: --node FILE`;
  return refusal({ code: "node-too-old", what: `this is Node ${major}, which is too old for the agent`, where, fix });
}

/** @returns null where systemd is not at its usual paths. */
export async function readMachineArchitecture(disk: Disk): Promise<string | null> {
  for (const path of SYSTEMD_PATHS) {
    if ((await disk.lookThrough(path)).kind === "file") return readArchitecture(disk, path);
  }
  return null;
}

/** @returns null for a file that is not ELF. */
async function readArchitecture(disk: Disk, path: string): Promise<string | null> {
  const header = Buffer.from(await disk.readPart(path, 0, MACHINE_POSITION + 2));
  if (header.byteLength < MACHINE_POSITION + 2 || header.toString("latin1", 0, 4) !== ELF_MAGIC) return null;
  const machine = header.readUInt16LE(MACHINE_POSITION);
  return ARCHITECTURES.get(machine) ?? `machine ${machine}`;
}

function notANode(what: string, where: string): InstallerProblem {
  const fix = `give the file bin/node of a Node ${OLDEST_NODE} or newer that this machine can start: --node FILE`;
  return refusal({ code: "not-a-node", what, where, fix });
}

/** True for a Node in a system folder that only root can replace. */
async function isSystemWide(path: string, host: Disk): Promise<boolean> {
  if (path.startsWith(`${PROGRAM_FOLDER}/`) || path.includes("/node_modules/")) return false;
  // The first line of the program, which names its Node, ends the name at a space.
  if (/\s/.test(path)) return false;
  if (!SYSTEM_FOLDERS.some((folder) => path.startsWith(folder))) return false;
  for (let at = path; ; at = dirname(at)) {
    const sight = await host.look(at);
    if (sight.kind !== "file" && sight.kind !== "directory") return false;
    if (sight.userId !== 0 || (sight.mode & WRITABLE_BY_OTHERS) !== 0) return false;
    if (at === "/") return true;
  }
}

function isSystemLibrary(library: string): boolean {
  // The vDSO has no file.
  return !library.startsWith("/") || LIBRARY_FOLDERS.some((folder) => library.startsWith(folder));
}
