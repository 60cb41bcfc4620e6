import { join } from "node:path";

import type { RunProgram } from "../platform/programs.ts";
import { type InstallerProblem, refusal } from "./errors.ts";
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

/** As `engines` in package.json. */
const OLDEST_NODE = 24;
const RUN_LIMIT_MS = 20_000;
/** What `node --version` prints. */
const VERSION = /^v(\d+)\.\d+\.\d+\S*\n$/;

/** The tree that the Node is installed into, and this machine: the same, except for an image. */
interface Trees {
  readonly tree: Tree;
  readonly host: Tree;
}

/**
 * Refuses a Node that is none, or one for another architecture. A copy of it will lie beside the program, so that no upgrade or clean-up of
 * the machine takes it away.
 *
 * @param path on this machine.
 */
export async function checkNode(path: string, { tree, host }: Trees): Promise<InstallerProblem | null> {
  if (!(await host.isFile(path))) {
    const what = "there is no such file";
    return refusal({ code: "node-missing", what, where: path, fix: "give the file bin/node of a Node: --node FILE" });
  }
  const architecture = await readArchitecture(host, path);
  if (architecture === null) return notANode("this file is not a Linux executable", path);
  const machine = await readMachineArchitecture(tree);
  if (machine !== null && machine !== architecture) {
    return refusal({
      code: "wrong-architecture",
      what: `this Node is for ${architecture}, but the machine is ${machine}`,
      where: path,
      fix: `give the file bin/node of a Node for ${machine}: --node FILE`,
    });
  }
  return null;
}

/**
 * Runs the copied Node where it was installed, in an image with chroot(8), and reads its version. Finds missing libraries and a wrong libc.
 * A Node for another architecture than this machine's cannot be run, and is accepted untested.
 *
 * @param path inside the tree.
 */
export async function tryNode(
  path: string,
  { tree, host }: Trees,
  runProgram: RunProgram,
): Promise<InstallerProblem | null> {
  if ((await readArchitecture(tree, path)) !== (await readMachineArchitecture(host))) return null;
  const words = tree.root === "/" ? [path] : ["chroot", tree.root, path];
  const result = await runProgram([...words, "--version"], { limitMs: RUN_LIMIT_MS });
  // Without chroot(8) the test is skipped.
  if (result.kind === "missing") return null;
  const where = join(tree.root, path);
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
export async function readMachineArchitecture(tree: Tree): Promise<string | null> {
  for (const path of SYSTEMD_PATHS) {
    if (await tree.isFile(path)) return readArchitecture(tree, path);
  }
  return null;
}

/** @returns null for a file that is not ELF. */
async function readArchitecture(tree: Tree, path: string): Promise<string | null> {
  const header = await tree.readStart(path, MACHINE_POSITION + 2);
  if (header === null || header.byteLength < MACHINE_POSITION + 2 || header.toString("latin1", 0, 4) !== ELF_MAGIC)
    return null;
  const machine = header.readUInt16LE(MACHINE_POSITION);
  return ARCHITECTURES.get(machine) ?? `machine ${machine}`;
}

function notANode(what: string, where: string): InstallerProblem {
  const fix = `give the file bin/node of a Node ${OLDEST_NODE} or newer that this machine can start: --node FILE`;
  return refusal({ code: "not-a-node", what, where, fix });
}
