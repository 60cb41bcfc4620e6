/** Debian root file systems, made by mmdebstrap(1) and kept in the checkout's cache. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { execute, locked } from "../programs/execute.ts";
import { isLong } from "../run/tier.ts";

export interface DebianRelease {
  readonly suite: string;
  /** Version of systemd, for test names. */
  readonly systemd: number;
}

/** The oldest supported release, the release that most robots run, and the next release. */
export const BULLSEYE: DebianRelease = { suite: "bullseye", systemd: 247 };
export const BOOKWORM: DebianRelease = { suite: "bookworm", systemd: 252 };
export const TRIXIE: DebianRelease = { suite: "trixie", systemd: 257 };
/** Only the roots that a run needs are made. The gate uses one systemd: the one of most robots. */
export const RELEASES: readonly DebianRelease[] = isLong ? [BULLSEYE, BOOKWORM, TRIXIE] : [BOOKWORM];

/** Packages of a robot computer beyond Debian's essential ones. */
const PACKAGES = ["systemd", "systemd-sysv", "dbus", "procps", "passwd", "acl"]
  // Needed by Node and not in an essential system.
  .concat("libatomic1", "libstdc++6")
  // Sets the clock of a single process.
  .concat("libfaketime")
  // Installs from a repository.
  .concat("apt");
/** Without point release and security updates, because each is another index to download. */
const MIRROR = "http://deb.debian.org/debian";
/** Takes half a minute on two idle cores, most of it for downloading and unpacking. */
const MAKE_LIMIT_MS = 600_000;
const ASK_LIMIT_MS = 60_000;
/** Limit for a test and its hooks on a busy machine, including the first run, which makes roots and packages. */
export const LIMIT_MS = 900_000;
/** For tests that build on their predecessors, also in a shuffled run. A constant, because the types of `describe.each` lack the option. */
export const STEP_BY_STEP = { timeout: LIMIT_MS, shuffle: false };

const CACHE = join(import.meta.dirname, "../../../node_modules/.cache/robot-policy-e2e");

/** Cache for artifacts that are costly and reproducible. Deleted together with node_modules. */
export async function cacheFolder(name: string): Promise<string> {
  const folder = join(CACHE, name);
  await mkdir(folder, { recursive: true });
  return folder;
}

/**
 * Why the missing roots cannot be made; null if they can be. Not checked in CI, where mmdebstrap itself fails with the reason.
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
 * The read-only root of a release. The first call makes it (about 20 s); a lock ensures that one process does.
 *
 * @throws the output of mmdebstrap, when Debian's mirror is out of reach.
 */
export async function debianRoot(release: DebianRelease): Promise<string> {
  const root = rootPath(release);
  return locked(`${root}.lock`, async () => {
    if (existsSync(root)) return root;
    const unfinished = `${root}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await execute(
      [
        // A private mount namespace, so that no mount remains in an unfinished root.
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
