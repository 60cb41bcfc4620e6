/** Root file systems of Debian, made from its packages by mmdebstrap(1), and kept in the checkout's cache. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { execute, locked } from "../programs/execute.ts";
import { isLong } from "../run/tier.ts";

export interface DebianRelease {
  readonly suite: string;
  /** Of systemd, for a person who reads the name of a test. */
  readonly systemd: number;
}

/** The oldest that the package is for, what most robots run today, and the release after it. */
export const BULLSEYE: DebianRelease = { suite: "bullseye", systemd: 247 };
export const BOOKWORM: DebianRelease = { suite: "bookworm", systemd: 252 };
export const TRIXIE: DebianRelease = { suite: "trixie", systemd: 257 };
/** Of each only the root that a run needs is made: the gate has one systemd, the one that most robots have. */
export const RELEASES: readonly DebianRelease[] = isLong ? [BULLSEYE, BOOKWORM, TRIXIE] : [BOOKWORM];

/** What a robot computer has beside Debian's essential packages. */
const PACKAGES = ["systemd", "systemd-sysv", "dbus", "procps", "passwd", "acl"]
  // Node's own, which an essential system does not have.
  .concat("libatomic1", "libstdc++6")
  // A clock for one process alone.
  .concat("libfaketime");
/** Without the updates of point releases and security: each is an index more to read. */
const MIRROR = "http://deb.debian.org/debian";
/** Half a minute on two quiet cores, most of it for downloads and unpacking. */
const MAKE_LIMIT_MS = 600_000;
const ASK_LIMIT_MS = 60_000;
/** Of a test, or what is before it: for a machine with other things to do, and the first run of all, which makes roots and packages. */
export const LIMIT_MS = 900_000;
/** Of tests that build on those before them, in a shuffled run too. Not written in place: the types of `describe.each` lack the option. */
export const STEP_BY_STEP = { timeout: LIMIT_MS, shuffle: false };

const CACHE = join(import.meta.dirname, "../../../node_modules/.cache/robot-policy-e2e");

/** A folder for what is costly to make and the same every time. It is gone with node_modules. */
export async function cacheFolder(name: string): Promise<string> {
  const folder = join(CACHE, name);
  await mkdir(folder, { recursive: true });
  return folder;
}

/**
 * Why the roots that are missing cannot be made; null where they can. On CI nobody asks: there it is a failure, told by mmdebstrap.
 */
export function findRootObstacle(): string | null {
  const missing = RELEASES.find((release) => !existsSync(rootPath(release)));
  if (missing === undefined || isOnCi()) return null;
  const options = [
    "--simulate",
    "--variant=essential",
    '--aptopt=Acquire::Retries "0"',
    '--aptopt=Acquire::http::Timeout "10"',
  ];
  const { status, stderr } = spawnSync("mmdebstrap", [...options, missing.suite, "/dev/null", MIRROR], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
    timeout: ASK_LIMIT_MS,
  });
  if (status === 0) return null;
  const [, why = "no answer in time"] = /^E: (.+)$/m.exec(stderr) ?? [];
  return `Debian's mirror is out of reach: ${why}`;
}

function isOnCi(): boolean {
  return !["", "0", "false"].includes(process.env["CI"] ?? "");
}

function rootPath({ suite }: DebianRelease): string {
  const recipe = createHash("sha256")
    .update(JSON.stringify([PACKAGES, MIRROR]))
    .digest("hex")
    .slice(0, 12);
  return join(CACHE, "roots", `${suite}-${recipe}`);
}

/**
 * The root of a release, as a folder that must not be written to. Made at the first call (about 20 s), by one process alone.
 *
 * @throws what mmdebstrap wrote, where Debian's mirror cannot be reached.
 */
export async function debianRoot(release: DebianRelease): Promise<string> {
  const root = rootPath(release);
  return locked(`${root}.lock`, async () => {
    if (existsSync(root)) return root;
    const unfinished = `${root}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await execute(
      [
        // What it mounts is gone with it, and not in the way of who removes an unfinished root.
        "unshare",
        "--mount",
        "mmdebstrap",
        "--variant=essential",
        `--include=${PACKAGES.join(",")}`,
        release.suite,
        unfinished,
        MIRROR,
      ],
      { limitMs: MAKE_LIMIT_MS },
    );
    await rename(unfinished, root);
    return root;
  });
}
