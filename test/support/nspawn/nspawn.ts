/** Computers of a test site that boot Debian's systemd. */
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
  /** Read-only layers of the disk, the topmost first. The lowest is a root of root.ts. */
  readonly layers: readonly string[];
  readonly hostname: string;
  readonly disk?: DiskKind;
}

/** A computer with a disk and a network cable, powered on or off. As a `Shell` it is its running system. */
export interface Computer extends Shell, AsyncDisposable {
  readonly hostname: string;
  /** The disk while the computer is off, as the maker of an image sees it: a root without processes. */
  readonly image: Shell;
  /** Powers on, and resolves when systemd has finished booting. */
  boot(options?: { readonly disk?: "read-only" }): Promise<void>;
  /** One line for each failed unit. */
  failedUnits(): Promise<string>;
  /** Unplugs and plugs the network cable; initially plugged. Works with the power on or off. */
  cable(state: "plugged" | "pulled"): Promise<void>;
  shutdown(): Promise<void>;
  /** Cuts the power: all processes stop at the same instruction. */
  cutPower(): Promise<void>;
  /** Path in the site for a path on the disk. */
  disk(path: string): string;
  /** Path in this process's namespace for a path of the running system. */
  live(path: string): string;
  /** The writable layer of the disk, for use as a layer of other computers. For a disk in memory, only while the computer is off. */
  layer(): string;
  /** Enables memory accounting and control of devices where systemd may not write to its control groups. Call after each boot. */
  takeControlGroups(): Promise<void>;
}

/** Units that each boot would start, that no test needs and none of ours is ordered after. */
const MASKED = ["systemd-logind", "systemd-user-sessions", "systemd-update-utmp", "systemd-update-utmp-runlevel"]
  .concat("systemd-remount-fs", "systemd-sysctl", "systemd-binfmt", "systemd-tmpfiles-setup-dev")
  .map((name) => `${name}.service`)
  .concat(
    "getty.target",
    "dpkg-db-backup.timer",
    "systemd-tmpfiles-clean.timer",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
  );

// Running these generators takes half the time of a systemd reload. They create units from kernel arguments, fstab(5), partitions and
// init scripts. Not below /usr: bullseye has no merged /usr here.
const GENERATORS = "/lib/systemd/system-generators";
/** Generators here override those of the same name, see systemd.generator(7). */
const OWN_GENERATORS = "/etc/systemd/system-generators";

/** SIGRTMIN+4, see systemd(1). */
const POWER_OFF = 38;
/** Limit for a boot or an installation on a busy machine. */
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
        // systemd does not answer before it listens here.
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
      // systemd-shutdown(8) briefly stops every process, and nsenter(1) stops together with its child and would miss its exit.
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
    async takeControlGroups() {
      if (!hasOldControlGroups) return;
      const mounts = ["memory", "pids", "devices"].map((name) => `mount -o remount,bind,rw /sys/fs/cgroup/${name}`);
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

/**
 * With E2E_KEEP=1: keeps the computer for inspection until Ctrl-C ends the tests. They then need no time limits:
 * `E2E_KEEP=1 scripts/test test/e2e -t NAME --testTimeout=0 --hookTimeout=0`.
 */
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
  // Outside of what the inventory covers, and not kept on the disk.
  const folder = "/dev/shm/session";
  // In its own session, so that `kill 0` ends the scripts of this shell only and not the tests.
  const enter = ["nsenter", `--target=${leader}`, "--all", "--", "setsid", "env", "-i", ...ENVIRONMENT];
  const [program = "", ...args] = [...enter, "sh", "-c", sessionLoop(folder)];
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  endWithTest(child);
  return openSession(child, `/proc/${leader}/root${folder}`);
}

interface Powered {
  readonly nspawn: ChildProcess;
  /** Process id of the first process. */
  readonly leader: number;
  /** A shell as root in the running system. */
  readonly session: Session;
  output(): string;
}

async function powerOn(site: Site, command: readonly string[], groups: readonly string[]): Promise<Powered> {
  const flags = ["--boot", "--register=no", "--keep-unit", "--console=pipe", "--link-journal=no", "--resolv-conf=off"];
  const nspawn = ["systemd-nspawn", "--quiet", ...flags, "--timezone=off", ...command];
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

/** Finds the descendant that is process 1 of its namespace and has become systemd. */
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
