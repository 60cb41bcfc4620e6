/**
 * An isolated site: a network with a policy service and robot computers that boot Debian's systemd (nspawn.ts).
 *
 * The site consists of namespaces whose first process reads from a pipe of the test. When the test process ends for any reason, the pipe
 * closes, the first process exits, and the kernel removes every process, mount and network device of the site. The host's network and disk
 * stay untouched except for empty control groups, which the next site removes.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";

import { shellWord } from "../../../src/platform/text/shell-word.ts";
import { endWithTest } from "../programs/children.ts";
import type { Executed } from "../programs/execute.ts";
import { hasProgram, isRoot } from "../programs/programs.ts";
import { findRootObstacle } from "./root.ts";
import { openSession, type ScriptOptions, sessionLoop } from "./session.ts";

export interface Site extends AsyncDisposable {
  /** Process id of the first process. */
  readonly process_id: number;
  /** Command prefix that runs a program in the site's network, mounts and process namespace. For long-running programs. */
  inside(argv: readonly string[]): string[];
  /** Runs a program in the site and waits for its end. */
  run(argv: readonly string[], options?: ScriptOptions): Promise<Executed>;
  /** Path in this process's namespace for a path of the site. */
  path(path: string): string;
  /** Creates a control group in each hierarchy for one computer. Returns the folders. */
  controlGroups(name: string): Promise<readonly string[]>;
  /** Returns a number that is unique in the site, from 1. */
  nextNumber(): number;
}

/** Address of the service. */
export const SITE_ADDRESS = "10.77.0.1";
/** Hostname of the service, known to all computers. */
export const SERVICE_HOSTNAME = "policy.site.test";
/** Each computer has its own network below 10.77. */
const COMPUTERS_LIMIT = 250;

const PROGRAMS = ["flock", "ip", "mkfs.ext4", "mmdebstrap", "nsenter", "openssl", "systemd-nspawn", "unshare"];
const PACKAGES: Readonly<Record<string, string>> = {
  flock: "util-linux",
  ip: "iproute2",
  "mkfs.ext4": "e2fsprogs",
  nsenter: "util-linux",
  "systemd-nspawn": "systemd-container",
  unshare: "util-linux",
};

const NAMESPACES = ["unshare", "--mount", "--propagation", "private", "--net", "--pid", "--fork", "--kill-child"];

export interface SiteObstacle {
  readonly what: string;
  /** Debian packages that provide what is missing. */
  readonly packages: readonly string[];
}

/** Why this machine cannot host a site; null if it can. */
export function findSiteObstacle(): SiteObstacle | null {
  if (process.platform !== "linux") return { what: "not Linux", packages: [] };
  if (!isRoot) return { what: "not root", packages: [] };
  const missing = PROGRAMS.filter((program) => !hasProgram(program));
  if (missing.length > 0) {
    const packages = [...new Set(missing.map((program) => PACKAGES[program] ?? program))];
    return { what: `${missing.join(", ")} missing`, packages };
  }
  const [unshare = "", ...argv] = [...NAMESPACES, "mount", "-t", "tmpfs", "tmpfs", "/run"];
  const { status } = spawnSync(unshare, argv, { stdio: "ignore" });
  if (status !== 0) return { what: "no right to make namespaces, as in a container", packages: [] };
  const noRoot = findRootObstacle();
  return noRoot === null ? null : { what: noRoot, packages: [] };
}

/** The obstacle as a suffix for the name of a skipped test; empty without one. */
export const whySkipped: string = (() => {
  const obstacle = findSiteObstacle();
  if (obstacle === null) return "";
  const { what, packages } = obstacle;
  return ` (skipped: ${what}${packages.length === 0 ? "" : `; apt-get install ${packages.join(" ")}`})`;
})();

/** Version 1: the hierarchies that systemd needs, and those that account and control. Version 2: the unified hierarchy. */
const HIERARCHIES = ["systemd", "unified", "memory", "pids", "devices"];
const GROUP_PREFIX = "robot-policy-e2e-";
const CGROUP = "/sys/fs/cgroup";

const SESSION_FOLDER = "/run/session";
/** Exits at the end of its input, and prints a line when it is ready. */
const FIRST_PROCESS = `mount -t tmpfs -o mode=755 tmpfs /run; ip link set lo up; echo ready; ${sessionLoop(SESSION_FOLDER)}`;

/** @throws when the machine cannot host a site, see `findSiteObstacle`. */
export async function openSite(): Promise<Site> {
  await sweepControlGroups();
  const [unshare = "", ...argv] = NAMESPACES;
  const first = spawn(unshare, [...argv, "--mount-proc", "--uts", "sh", "-ec", FIRST_PROCESS], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  endWithTest(first);
  const ended = once(first, "close");
  const ready = await Promise.race([once(first.stdout, "data"), ended.then(() => null)]);
  const [processId] = childrenOf(first.pid ?? 0);
  if (ready === null || processId === undefined) throw new Error("Cannot open namespaces for a site");

  let count = 0;
  const groups = `${GROUP_PREFIX}${process.pid}-${processId}`;
  const enter = ["nsenter", `--target=${processId}`, "--mount", "--net", "--pid", "--uts", "--wd=/", "--"];
  const path = (inSite: string) => `/proc/${processId}/root${inSite}`;
  const session = openSession(first, path(SESSION_FOLDER));
  return {
    process_id: processId,
    inside: (argv) => [...enter, ...argv],
    run: (argv, options) => session.run(argv.map(shellWord).join(" "), options),
    path,
    nextNumber() {
      count += 1;
      if (count > COMPUTERS_LIMIT) throw new Error(`A site has room for ${COMPUTERS_LIMIT} computers`);
      return count;
    },
    async controlGroups(name) {
      const folders = hierarchies().map((hierarchy) => join(hierarchy, groups, name));
      for (const folder of folders) await mkdir(folder, { recursive: true });
      return folders;
    },
    async [Symbol.asyncDispose]() {
      first.stdin.end();
      await ended;
      await Promise.all(hierarchies().map((hierarchy) => removeGroups(join(hierarchy, groups))));
    },
  };
}

/** Process ids of the children of a process, oldest first. */
export function childrenOf(processId: number): readonly number[] {
  try {
    const processIds = readFileSync(`/proc/${processId}/task/${processId}/children`, "latin1").split(" ");
    return processIds.filter((text) => text !== "").map(Number);
  } catch {
    return [];
  }
}

/** Version 1 hierarchies. A container may not write to them; its systemd then accounts for nothing and controls nothing. */
export const hasOldControlGroups = existsSync(join(CGROUP, "memory"));

function hierarchies(): readonly string[] {
  if (existsSync(join(CGROUP, "cgroup.controllers"))) return [CGROUP];
  return HIERARCHIES.map((name) => join(CGROUP, name)).filter((folder) => existsSync(folder));
}

/** Removes groups of sites whose test was killed. */
async function sweepControlGroups(): Promise<void> {
  for (const hierarchy of hierarchies()) {
    for (const name of await readdir(hierarchy)) {
      const [, owner] = /^robot-policy-e2e-(\d+)-/.exec(name) ?? [];
      if (owner !== undefined && !existsSync(`/proc/${owner}`)) await removeGroups(join(hierarchy, name));
    }
  }
}

/** A group that still contains a process stays until the next cleanup. Another worker may remove the same groups. */
async function removeGroups(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeGroups(join(folder, entry.name));
  await rmdir(folder).catch(() => {});
}

/** Shell commands that move the shell into the groups. */
export function joinGroups(folders: readonly string[]): string {
  return folders.map((folder) => `echo $$ >${folder}/cgroup.procs`).join("; ");
}
