import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { scratchFolder } from "./end-of-script.ts";

/** The release launcher of a program, built for this script. */
export function freshBuild(program: string): string {
  const out = scratchFolder("robot-policy-build-");
  const args = [join(import.meta.dirname, "../build.ts"), "--out", out];
  const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", 2, "inherit"] });
  if (status !== 0) throw new Error("the build failed");
  return join(out, `${program}.cjs`);
}
