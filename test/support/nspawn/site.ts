/**
 * A site of our own: a network with a policy service in it, and robot computers that boot Debian's systemd (nspawn.ts).
 *
 * All of it lives in namespaces whose first process reads from a pipe of the test. When the test ends, however it ends, the pipe closes,
 * that process exits, and the kernel takes every process, mount and network device of the site with it. Nothing is on the machine's
 * own network or disk but empty control groups, which the next site removes.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";

import { shellWord } from "../../../src/platform/text/shell-word.ts";
import { endWithTest } from "../programs/children.ts";
import type { Executed } from "../programs/execute.ts";
import { hasProgram, isRoot } from "../programs/programs.ts";
import { findRootObstacle } from "./root.ts";
import { openSession, type ScriptOptions, sessionLoop } from "./session.ts";

export interface Site extends AsyncDisposable {
  /** Process id of its first process. */
  readonly process_id: number;
  /** Words that run a program in the site: its network, its mounts, its processes. For one that stays. */
  inside(words: readonly string[]): string[];
  /** Runs a program in the site to its end. */
  run(words: readonly string[], options?: ScriptOptions): Promise<Executed>;
  /** Where a path of the site is for this process. */
  path(path: string): string;
  /** A control group of its own in each hierarchy, for one computer; the folders, empty. */
  controlGroups(name: string): Promise<readonly string[]>;
  /** A number that no other computer of the site has, from 1. */
  nextNumber(): number;
}

/** Its address, where the service listens. */
export const SITE_ADDRESS = "10.77.0.1";
/** The same as a name, which its computers know. */
export const SERVICE_HOSTNAME = "policy.site.test";
/** Each has an address of its own below 10.77. */
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
  /** Debian's packages that would help. */
  readonly packages: readonly string[];
}

/** Why this machine cannot have a site; null where it can. */
export function findSiteObstacle(): SiteObstacle | null {
  if (process.platform !== "linux") return { what: "not Linux", packages: [] };
  if (!isRoot) return { what: "not root", packages: [] };
  const missing = PROGRAMS.filter((program) => !hasProgram(program));
  if (missing.length > 0) {
    const packages = [...new Set(missing.map((program) => PACKAGES[program] ?? program))];
    return { what: `${missing.join(", ")} missing`, packages };
  }
  const [unshare = "", ...words] = [...NAMESPACES, "mount", "-t", "tmpfs", "tmpfs", "/run"];
  const { status } = spawnSync(unshare, words, { stdio: "ignore" });
  if (status !== 0) return { what: "no right to make namespaces, as in a container", packages: [] };
  const noRoot = findRootObstacle();
  return noRoot === null ? null : { what: noRoot, packages: [] };
}

/** The same for the name of a test that is skipped; empty where it is not. */
export const whySkipped: string = (() => {
  const obstacle = findSiteObstacle();
  if (obstacle === null) return "";
  const { what, packages } = obstacle;
  return ` (skipped: ${what}${packages.length === 0 ? "" : `; apt-get install ${packages.join(" ")}`})`;
})();

/** Of version 1 those that systemd needs and those that account; of version 2 the one. */
const HIERARCHIES = ["systemd", "unified", "memory", "pids"];
const GROUP_PREFIX = "robot-policy-e2e-";
const CGROUP = "/sys/fs/cgroup";

const SESSION_FOLDER = "/run/session";
/** Lives as long as its input, and says when it does. */
const FIRST_PROCESS = `mount -t tmpfs -o mode=755 tmpfs /run; ip link set lo up; echo ready; ${sessionLoop(SESSION_FOLDER)}`;

/** @throws where the machine does not allow it: see `findSiteObstacle`. */
export async function openSite(): Promise<Site> {
  await sweepControlGroups();
  const [unshare = "", ...words] = NAMESPACES;
  const first = spawn(unshare, [...words, "--mount-proc", "--uts", "sh", "-ec", FIRST_PROCESS], {
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
    inside: (words) => [...enter, ...words],
    run: (words, options) => session.run(words.map(shellWord).join(" "), options),
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
    const words = readFileSync(`/proc/${processId}/task/${processId}/children`, "latin1").split(" ");
    return words.filter((word) => word !== "").map(Number);
  } catch {
    return [];
  }
}

/** Control groups accounted by version 1, which a container is not given to write to; then its systemd accounts nothing. */
export const hasOldControlGroups = existsSync(join(CGROUP, "memory"));

function hierarchies(): readonly string[] {
  if (existsSync(join(CGROUP, "cgroup.controllers"))) return [CGROUP];
  return HIERARCHIES.map((name) => join(CGROUP, name)).filter((folder) => existsSync(folder));
}

/** Those of sites whose test was killed. */
async function sweepControlGroups(): Promise<void> {
  for (const hierarchy of hierarchies()) {
    for (const name of await readdir(hierarchy)) {
      const [, owner] = /^robot-policy-e2e-(\d+)-/.exec(name) ?? [];
      if (owner !== undefined && !existsSync(`/proc/${owner}`)) await removeGroups(join(hierarchy, name));
    }
  }
}

/** What a process still lives in stays, for the next sweep. */
async function removeGroups(folder: string): Promise<void> {
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  for (const entry of entries) if (entry.isDirectory()) await removeGroups(join(folder, entry.name));
  await rmdir(folder).catch(() => {});
}

/** Moves the writing process into groups, in words of a shell. */
export function joinGroups(folders: readonly string[]): string {
  return folders.map((folder) => `echo $$ >${folder}/cgroup.procs`).join("; ");
}
