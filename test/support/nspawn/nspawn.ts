/** Computers that boot Debian's systemd, at a site of our own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";

import { endWithTest } from "../programs/children.ts";
import type { Executed } from "../programs/execute.ts";
import { eventually } from "../robot/robot.ts";
import { createDisk, type DiskKind } from "./disk.ts";
import { followJournal, forgetJournal, keepJournal, type Shell } from "./journal.ts";
import { openSession, type ScriptOptions, type Session, sessionLoop } from "./session.ts";
import { childrenOf, hasOldControlGroups, joinGroups, SERVICE_HOSTNAME, type Site, SITE_ADDRESS } from "./site.ts";

export interface ComputerOptions {
  /** Layers of its disk, the topmost first; they are not written to. The lowest is a root of root.ts. */
  readonly layers: readonly string[];
  readonly hostname: string;
  readonly disk?: DiskKind;
}

/** A computer with a disk and a network cable, powered or not. As a shell it is its running system. */
export interface Computer extends Shell, AsyncDisposable {
  readonly hostname: string;
  /** Its disk while it is off, as who makes an image has it: a root, and nothing that runs. */
  readonly image: Shell;
  /** Powers it on, and resolves when systemd has come to rest. */
  boot(options?: { readonly disk?: "read-only" }): Promise<void>;
  /** A line for each unit that systemd counts as failed. */
  failedUnits(): Promise<string>;
  /** Pulls and plugs the network cable; plugged at first. Works in both states of power. */
  cable(state: "plugged" | "pulled"): Promise<void>;
  shutdown(): Promise<void>;
  /** From one instruction to the next nothing of it runs. */
  cutPower(): Promise<void>;
  /** Where a path of its disk is in the site. */
  disk(path: string): string;
  /** Where a path of its running system is for this process. */
  live(path: string): string;
  /** What its disk holds beyond its layers, as a layer for others; of a computer with a disk in memory, while it is off. */
  layer(): string;
  /** Has systemd account for memory, also where it is not given control groups to write to. After each boot. */
  accountMemory(): Promise<void>;
}

/** What each boot would start beside what is tested, and nothing of ours is ordered after. */
const MASKED = ["systemd-logind", "systemd-user-sessions", "systemd-update-utmp", "systemd-update-utmp-runlevel"]
  .concat("systemd-remount-fs", "systemd-sysctl", "systemd-binfmt", "systemd-tmpfiles-setup-dev")
  .map((name) => `${name}.service`)
  .concat("getty.target", "dpkg-db-backup.timer", "systemd-tmpfiles-clean.timer");

/** Half of what a reload of systemd costs. They make units of kernel arguments, fstab(5), partitions and old init scripts. */
// Not below /usr: bullseye has no merged /usr here.
const GENERATORS = "/lib/systemd/system-generators";
/** What is here goes before those of the same name, see systemd.generator(7). */
const OWN_GENERATORS = "/etc/systemd/system-generators";

/** SIGRTMIN+4, see systemd(1). */
const POWER_OFF = 38;
/** For a computer that boots, or installs, on a machine that has other things to do. */
const SCRIPT_LIMIT_MS = 90_000;
const ENVIRONMENT = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root"];

export async function createComputer(site: Site, options: ComputerOptions): Promise<Computer> {
  const { hostname, layers, disk = "memory" } = options;
  const number = site.nextNumber();
  const network = `computer${number}`;
  const groups = await site.controlGroups(`${number}`);
  await plugIn();
  const ownDisk = await createDisk(site, `/run/computers/${number}`, layers, disk);
  const { root } = ownDisk;
  nameIt();
  let powered: Powered | null = null;

  const computer: Computer = {
    hostname,
    image: shell((script, execution) =>
      site.run(["chroot", root, "env", "-i", ...ENVIRONMENT, "sh", "-ec", script], execution),
    ),
    async boot(start = {}) {
      if (powered !== null) throw new Error(`${hostname} runs already`);
      powered = await powerOn(
        site,
        [
          `--directory=${root}`,
          `--machine=${hostname}`,
          `--network-namespace-path=/run/netns/${network}`,
          ...(start.disk === "read-only" ? ["--read-only"] : []),
        ],
        groups,
      );
      const { leader, nspawn, output } = powered;
      await eventually(async () => {
        if (nspawn.exitCode !== null) throw new Error(`${hostname} did not boot: ${output()}`);
        // Before systemd listens there, to ask is in vain.
        if (!existsSync(`/proc/${leader}/root/run/systemd/private`)) return undefined;
        const state = await computer.run("systemctl is-system-running --wait", { may_fail: true });
        return /^(running|degraded)$/m.test(state.stdout) ? true : undefined;
      }, `${hostname} to boot`);
      followJournal(computer, hostname);
    },
    ...shell(runInside),
    failedUnits: () => computer.ask("systemctl list-units --failed --plain --no-legend --no-pager"),
    async cable(state) {
      await site.run(["ip", "link", "set", `cable${number}`, state === "plugged" ? "up" : "down"]);
    },
    async shutdown() {
      if (powered === null) return;
      const { nspawn, leader, session } = powered;
      forgetJournal(computer);
      const ended = once(nspawn, "close");
      // systemd-shutdown(8) stops every process for a moment, and nsenter(1) stops with its child and would not see its end.
      await session.end();
      process.kill(leader, POWER_OFF);
      await ended;
      powered = null;
    },
    async cutPower() {
      if (powered === null) return;
      const { nspawn, leader } = powered;
      forgetJournal(computer);
      const ended = once(nspawn, "close");
      process.kill(leader, "SIGKILL");
      await ended;
      powered = null;
      await ownDisk.losePageCache();
    },
    disk: (path) => root + path,
    live(path) {
      if (powered === null) throw new Error(`${hostname} is off`);
      return `/proc/${powered.leader}/root${path}`;
    },
    layer: () => ownDisk.upper,
    async accountMemory() {
      if (!hasOldControlGroups) return;
      const mounts = ["memory", "pids"].map((name) => `mount -o remount,bind,rw /sys/fs/cgroup/${name}`);
      await computer.run([...mounts, "systemctl daemon-reexec"].join("; "));
    },
    async [Symbol.asyncDispose]() {
      if (powered !== null) {
        await keepJournal(computer);
        await hold(hostname, powered.leader);
        const ended = once(powered.nspawn, "close");
        process.kill(powered.leader, "SIGKILL");
        await ended;
      }
      await ownDisk.discard();
      await site.run(["ip", "netns", "delete", network]);
    },
  };
  return computer;

  async function runInside(script: string, execution?: ScriptOptions): Promise<Executed> {
    if (powered === null) throw new Error(`${hostname} is off`);
    return powered.session.run(script, { limitMs: SCRIPT_LIMIT_MS, ...execution });
  }

  async function plugIn(): Promise<void> {
    const address = `10.77.${number}.1`;
    await site.run([
      "sh",
      "-ec",
      `mkdir -p /run/netns; ip netns add ${network}
      ip link add cable${number} type veth peer name host0 netns ${network}
      ip address add ${SITE_ADDRESS} peer ${address} dev cable${number}; ip link set cable${number} up
      ip -n ${network} link set lo up; ip -n ${network} link set host0 up
      ip -n ${network} address add ${address} peer ${SITE_ADDRESS} dev host0`,
    ]);
  }

  function nameIt(): void {
    const path = (inRoot: string) => site.path(root + inRoot);
    writeFileSync(path("/etc/hostname"), `${hostname}\n`);
    const hosts = ["127.0.0.1 localhost", `127.0.1.1 ${hostname}`, `${SITE_ADDRESS} ${SERVICE_HOSTNAME}`, ""];
    writeFileSync(path("/etc/hosts"), hosts.join("\n"));
    mkdirSync(path(OWN_GENERATORS), { recursive: true });
    const generators = readdirSync(path(GENERATORS)).map((name) => `${OWN_GENERATORS}/${name}`);
    for (const masked of [...MASKED.map((unit) => `/etc/systemd/system/${unit}`), ...generators]) {
      rmSync(path(masked), { force: true });
      symlinkSync("/dev/null", path(masked));
    }
  }
}

/** With E2E_KEEP=1, until somebody who looks around has seen enough: Ctrl-C ends the tests, and all that belongs to them. */
async function hold(hostname: string, leader: number): Promise<void> {
  if (process.env["E2E_KEEP"] === undefined) return;
  process.stderr.write(`kept until Ctrl-C: ${hostname}; look around with: nsenter --target=${leader} --all\n`);
  await new Promise(() => setInterval(() => {}, 60_000));
}

function shell(run: Shell["run"]): Shell {
  return {
    run,
    async ask(script, options) {
      return (await run(script, options)).stdout.replace(/\n$/, "");
    },
    async write(path, content, mode = "644") {
      await run(`mkdir -p "$(dirname '${path}')"; cat >'${path}'; chmod ${mode} '${path}'`, { input: content });
    },
  };
}

function startSession(leader: number): Session {
  // Where no inventory of the computer looks, and which it does not keep.
  const folder = "/dev/shm/session";
  // A session of its own: `kill 0` ends the scripts of this shell, and not the tests.
  const enter = ["nsenter", `--target=${leader}`, "--all", "--", "setsid", "env", "-i", ...ENVIRONMENT];
  const [program = "", ...args] = [...enter, "sh", "-c", sessionLoop(folder)];
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  endWithTest(child);
  return openSession(child, `/proc/${leader}/root${folder}`);
}

interface Powered {
  readonly nspawn: ChildProcess;
  /** Process id of its first process. */
  readonly leader: number;
  /** As root in the running system. */
  readonly session: Session;
  output(): string;
}

async function powerOn(site: Site, words: readonly string[], groups: readonly string[]): Promise<Powered> {
  const flags = ["--boot", "--register=no", "--keep-unit", "--console=pipe", "--link-journal=no", "--resolv-conf=off"];
  const nspawn = ["systemd-nspawn", "--quiet", ...flags, "--timezone=off", ...words];
  const started = site.inside(["sh", "-ec", `${joinGroups(groups)}; exec "$@"`, "sh", ...nspawn]);
  const [program = "", ...args] = started;
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  endWithTest(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const leader = await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`systemd-nspawn ended: ${output}`);
    return findLeader(child.pid ?? 0);
  }, "systemd to start");
  return { nspawn: child, leader, session: startSession(leader), output: () => output };
}

/** The process below that is the first of its process namespace, and systemd by now. */
function findLeader(processId: number): number | undefined {
  for (const child of childrenOf(processId)) {
    const below = findLeader(child);
    if (below !== undefined) return below;
    if (isLeader(child)) return child;
  }
  return undefined;
}

function isLeader(processId: number): boolean {
  try {
    const status = readFileSync(`/proc/${processId}/status`, "latin1");
    return /^Name:\s+(systemd|init)$/m.test(status) && /^NSpid:.*\s1$/m.test(status);
  } catch {
    return false;
  }
}
