/** Builds the programs once for all test files that start them into a folder of this run, and creates the folder of its databases. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { TestProject } from "vitest/node";

import { memoryFolder } from "../memory.ts";
import { UNTAGGED_PROGRAMS } from "../programs/programs-built.ts";
import { WITHOUT_NEEDS } from "./tier.ts";

/** Memory limit of the PostgreSQL servers of all workers. Containers often have 64 MiB of shared memory. */
const CLUSTERS_BYTES = 2 ** 31;

/** Part of the folder name: shared memory may be shared with another container, whose processes are not visible here. */
const NAMESPACE_LINK = "/proc/self/ns/pid";
const NAMESPACE = existsSync(NAMESPACE_LINK) ? readlinkSync(NAMESPACE_LINK).replaceAll(/\D/g, "") : "0";
const CLUSTERS_PREFIX = `robot-policy-clusters-${NAMESPACE}-`;

const root = join(import.meta.dirname, "../../..");

/** Folder of this run. mkdtemp makes it private; others need access, because tests run programs as other users. */
let folder: string | undefined;
let clusters: string | undefined;

export function setup({ config }: TestProject): void {
  if (config.tagsFilter?.includes(WITHOUT_NEEDS) === true) {
    process.env["ROBOT_POLICY_TEST_PROGRAMS"] = UNTAGGED_PROGRAMS;
    return;
  }
  folder = mkdtempSync(join(tmpdir(), "robot-policy-programs-"));
  chmodSync(folder, 0o755);
  const args = [join(root, "scripts/build.ts"), "--out", folder];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) throw new Error("The programs cannot be built");
  process.env["ROBOT_POLICY_TEST_PROGRAMS"] = folder;
  const compiled = join(folder, "compiled");
  mkdirSync(compiled);
  // Node keeps a folder for each user there.
  chmodSync(compiled, 0o1777);
  removeAbandoned();
  const { bavail, bsize } = statfsSync(memoryFolder);
  const hasRoom = bavail * bsize > CLUSTERS_BYTES;
  clusters = mkdtempSync(hasRoom ? join(memoryFolder, `${CLUSTERS_PREFIX}${process.pid}-`) : join(folder, "clusters-"));
  chmodSync(clusters, 0o755);
  process.env["ROBOT_POLICY_TEST_CLUSTERS"] = clusters;
}

/** Removes databases of killed runs, because nothing else frees shared memory. */
function removeAbandoned(): void {
  for (const name of readdirSync(memoryFolder)) {
    if (!name.startsWith(CLUSTERS_PREFIX)) continue;
    const pid = Number.parseInt(name.slice(CLUSTERS_PREFIX.length));
    const path = join(memoryFolder, name);
    // Another run that starts now may have removed it.
    const owner = lstatSync(path, { throwIfNoEntry: false })?.uid;
    if (existsSync(`/proc/${pid}`) || owner !== process.getuid?.()) continue;
    rmSync(path, { recursive: true, force: true });
  }
}

export function teardown(): void {
  for (const path of [clusters, folder]) if (path !== undefined) rmSync(path, { recursive: true, force: true });
}
