/** Builds the programs once for all test files, into a folder of this run. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Of this run. mkdtemp makes it ours alone; tests run programs as other users, too. */
let folder: string | undefined;

export function setup(): void {
  folder = mkdtempSync(join(tmpdir(), "robot-policy-programs-"));
  chmodSync(folder, 0o755);
  const words = [join(root, "scripts/build.ts"), "--out", folder];
  const { status } = spawnSync(process.execPath, words, { stdio: "inherit" });
  if (status !== 0) throw new Error("The programs cannot be built");
  process.env["ROBOT_POLICY_TEST_PROGRAMS"] = folder;
  process.env["NODE_COMPILE_CACHE"] = join(folder, "compiled");
}

export function teardown(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
