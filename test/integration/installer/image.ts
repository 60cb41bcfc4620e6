/** Small images to install into: real files, a minimal program and a minimal Node. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import * as fs from "node:fs/promises";
import { join } from "node:path";

import { createTerminal } from "../../../src/cli/terminal.ts";
import { install, type InstallContext, type InstallOptions } from "../../../src/installer/install.ts";
import type { InstallerMachine } from "../../../src/installer/installer.ts";
import type { TreeFs } from "../../../src/installer/tree.ts";
import { uninstall, type UninstallOptions } from "../../../src/installer/uninstall.ts";
import { type RunProgram, systemPrograms } from "../../../src/platform/programs.ts";
import { memoryFolder } from "../../support/memory.ts";
import { hasProgram, isRoot } from "../../support/programs/programs.ts";

/** Installation into an image needs systemd's own programs, which a container may lack. */
export const canFillImages = isRoot && ["systemctl", "systemd-sysusers", "userdel", "chroot"].every(hasProgram);

const sources = join(import.meta.dirname, "../../..");

const FOLDERS =
  "etc/systemd/system usr/lib/systemd usr/bin var/lib tmp usr/local/bin usr/local/lib usr/local/share".split(" ");

export interface Workshop extends AsyncDisposable {
  readonly folder: string;
  /** A root with only systemd and users. */
  makeImage(): Promise<string>;
  /** The output of a build, with a program that contains its version. */
  makeDistribution(version: string): Promise<string>;
  /** A Node for this architecture, an ELF machine number. */
  makeNode(machine?: number): Promise<string>;
}

export const X86_64 = 62;
export const ARM64 = 183;

export async function openWorkshop(): Promise<Workshop> {
  const folder = await fs.mkdtemp(join(memoryFolder, "installer-"));
  let count = 0;
  const next = (name: string) => join(folder, `${name}-${(count += 1)}`);
  return {
    folder,
    async makeImage() {
      const root = next("image");
      for (const each of FOLDERS) {
        await fs.mkdir(join(root, each), { recursive: true });
      }
      await fs.symlink("usr/lib", join(root, "lib"));
      await fs.writeFile(join(root, "usr/lib/systemd/systemd"), elf(X86_64));
      await fs.writeFile(
        join(root, "etc/passwd"),
        "root:x:0:0:root:/root:/bin/bash\nmessagebus:x:999:998::/:/bin/false\n",
      );
      await fs.writeFile(join(root, "etc/group"), "root:x:0:\nmessagebus:x:998:\n");
      await fs.writeFile(join(root, "etc/shadow"), "root:*:19000:0:99999:7:::\n", { mode: 0o640 });
      await fs.writeFile(join(root, "etc/gshadow"), "root:*::\nmessagebus:!*::\n", { mode: 0o640 });
      await fs.writeFile(join(root, "etc/.pwd.lock"), "", { mode: 0o600 });
      return root;
    },
    async makeDistribution(version) {
      const dist = next("dist");
      await fs.mkdir(join(dist, "lib"), { recursive: true });
      await fs.writeFile(
        join(dist, "robot-policy-agent.cjs"),
        `#!/usr/bin/env -S node --disable-sigusr1\nrequire("./lib/robot-policy-agent.cjs");\n`,
      );
      await fs.writeFile(join(dist, "lib/robot-policy-agent.cjs"), `require("./yaml.cjs"); // ${version}\n`);
      await fs.writeFile(join(dist, "lib/yaml.cjs"), `exports.version = "${version}";\n`);
      await fs.writeFile(join(dist, "lib/sqlite-worker.cjs"), "");
      for (const part of [
        "robot-policy-agent.service",
        "robot-policy-agent-setup.service",
        "robot-policy-agent.timer",
        "robot-policy-agent-look.service",
        "robot-policy-agent.sysusers",
      ]) {
        await fs.cp(join(sources, "systemd", part), join(dist, "share/systemd", part));
      }
      return dist;
    },
    async makeNode(machine = X86_64) {
      const path = next("node");
      await fs.writeFile(path, elf(machine), { mode: 0o755 });
      return path;
    },
    async [Symbol.asyncDispose]() {
      await fs.rm(folder, { recursive: true, force: true });
    },
  };
}

/** A static 64-bit Linux program. The x86-64 one can run, and prints a Node version. */
function elf(machine: number): Buffer {
  // write(1, text after the code, 8); exit(0)
  const code = Buffer.from("b801000000bf01000000488d3510000000ba080000000f05b83c00000031ff0f05", "hex");
  const bytes = Buffer.concat([Buffer.alloc(120), code, Buffer.from("v26.0.0\n")]);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  for (const [offset, value] of [
    [16, 2],
    [18, machine],
    [20, 1],
    [52, 64],
    [54, 56],
    [56, 1],
    [64, 1],
    [68, 5],
  ] as const) {
    bytes.writeUInt16LE(value, offset);
  }
  // Entry point, program header table, and one segment loaded at 4 MiB.
  for (const [offset, value] of [
    [24, 0x400078],
    [32, 64],
    [80, 0x400000],
    [88, 0x400000],
    [96, bytes.byteLength],
    [104, bytes.byteLength],
    [112, 4096],
  ] as const) {
    bytes.writeBigUInt64LE(BigInt(value), offset);
  }
  return bytes;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Setting {
  readonly dist: string;
  readonly node: string;
  readonly version?: string;
  readonly fs?: TreeFs;
  readonly runProgram?: RunProgram;
  /** Root of the running machine, for commands without `--root`. */
  readonly root?: string;
  readonly userId?: number;
  readonly input?: string;
  readonly signal?: AbortSignal;
  readonly completions?: InstallContext["completions"];
}

/** `robot-policy-agent install` on real files. */
export function runInstall(options: InstallOptions, setting: Setting): Promise<CommandResult> {
  return run(setting, (context, machine) => install(options, context, machine));
}

/** `robot-policy-agent uninstall` on real files. */
export function runUninstall(options: UninstallOptions, setting: Setting): Promise<CommandResult> {
  return run(setting, (context, machine) => uninstall(options, context, machine));
}

const COMPLETIONS = new Map([
  ["bash", "# bash\n"],
  ["zsh", "# zsh\n"],
] as const);

async function run(
  setting: Setting,
  command: (context: InstallContext, machine: InstallerMachine) => Promise<number>,
): Promise<CommandResult> {
  let stdout = "";
  let stderr = "";
  const terminal = createTerminal({
    stdout: { write: (text) => void (stdout += text) },
    stderr: { write: (text) => void (stderr += text) },
    environment: {},
  });
  const context: InstallContext = {
    terminal,
    signal: setting.signal ?? new AbortController().signal,
    version: setting.version ?? "1.0.0",
    program: "/opt/node /checkout/dist/robot-policy-agent.cjs",
    userId: setting.userId ?? 0,
    completions: setting.completions ?? COMPLETIONS,
    readInput: async () => setting.input ?? "",
  };
  const exitCode = await command(context, {
    root: setting.root ?? "/nowhere",
    fs: setting.fs ?? fs,
    runProgram: setting.runProgram ?? systemPrograms,
    own: {
      programPath: async () => join(setting.dist, "robot-policy-agent.cjs"),
      nodePath: async () => setting.node,
    },
  });
  return { exitCode, stdout, stderr };
}

/** Backups left by useradd(8) and similar programs. */
const ACCOUNT_BACKUP = /^(?:passwd|group|shadow|gshadow)-$/;

/** Each path below the folder with its kind, mode, owner and content digest, to compare trees. */
export function describeTree(root: string, below = ""): readonly string[] {
  return readdirSync(join(root, below))
    .filter((name) => !ACCOUNT_BACKUP.test(name))
    .toSorted()
    .flatMap((name) => describeEntry(root, `${below}/${name}`));
}

function describeEntry(root: string, path: string): readonly string[] {
  const stats = lstatSync(join(root, path));
  const access = `${(stats.mode & 0o7777).toString(8)} ${stats.uid}:${stats.gid}`;
  if (stats.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(root, path))}`];
  if (stats.isDirectory()) return [`${path}/ ${access}`, ...describeTree(root, path)];
  const digest = createHash("sha256")
    .update(readFileSync(join(root, path)))
    .digest("hex");
  return [`${path} ${access} ${digest.slice(0, 16)}`];
}
