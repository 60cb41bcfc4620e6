/**
 * The Node to install. A copy of it will lie beside the program, so that no upgrade or clean-up of the machine takes it away.
 */
import { open } from "node:fs/promises";

import type { RunProgram } from "../platform/programs.ts";
import { InstallerError } from "./errors.ts";
import type { Tree } from "./tree.ts";

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

const RUN_LIMIT_MS = 20_000;
/** What `node --version` prints. */
const VERSION = /^v\d+\.\d+\.\d+\S*\n$/;

/** Refuses a Node for another architecture than the tree's. @param path on this machine. @throws `InstallerError`, Node system errors. */
export async function checkNode(path: string, tree: Tree): Promise<void> {
  const architecture = await readArchitecture(path);
  const machine = await readMachineArchitecture(tree);
  if (architecture === null) throw unfit("this file is not a Linux executable", path);
  if (machine !== null && machine !== architecture)
    throw unfit(`this Node is for ${architecture}, but the machine is ${machine}`, path);
}

/**
 * Runs the copied Node where it was installed, in an image with chroot(8). Finds missing libraries and a wrong libc. A Node for another
 * architecture than this machine's cannot be run, and is accepted untested.
 *
 * @param path inside the tree. @param host the files of this machine.
 */
export async function tryNode(path: string, tree: Tree, host: Tree, runProgram: RunProgram): Promise<void> {
  const where = tree.place(path);
  if ((await readArchitecture(where)) !== (await readMachineArchitecture(host))) return;
  const words = tree.root === "/" ? [path] : ["chroot", tree.root, path];
  const result = await runProgram([...words, "--version"], { limitMs: RUN_LIMIT_MS });
  // Without chroot(8) the test is skipped.
  if (result.kind === "missing") return;
  if (result.kind === "ended" && VERSION.test(result.stdout)) return;
  const line = result.kind === "ended" ? result.stderr.split("\n").find((text) => text.trim() !== "") : result.kind;
  throw unfit(`this Node does not start: ${line ?? "it prints no version"}`, where);
}

/** @returns null where systemd is not at its usual paths. */
export async function readMachineArchitecture(tree: Tree): Promise<string | null> {
  for (const path of SYSTEMD_PATHS) if (await tree.isFile(path)) return readArchitecture(tree.place(path));
  return null;
}

/** @returns null for a file that is not ELF. @throws Node system errors. */
async function readArchitecture(path: string): Promise<string | null> {
  await using file = await open(path);
  const { buffer: header } = await file.read(Buffer.alloc(MACHINE_POSITION + 2));
  if (header.toString("latin1", 0, ELF_MAGIC.length) !== ELF_MAGIC) return null;
  const machine = header.readUInt16LE(MACHINE_POSITION);
  return ARCHITECTURES.get(machine) ?? `machine ${machine}`;
}

function unfit(what: string, where: string): InstallerError {
  const fix = "give the file bin/node of a Node for this machine: --node FILE";
  return new InstallerError({ code: "unfit-node", what, where, fix });
}
