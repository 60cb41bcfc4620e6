/** A drive that a test makes hang, and answer again. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { stat } from "node:fs/promises";

import { eventually } from "../eventually.ts";
import { endWithTest } from "../programs/children.ts";
import { withOwnMounts } from "../programs/programs.ts";
import type { Robot } from "./robot.ts";

export interface Drive extends AsyncDisposable {
  /** Command prefix: runs a program that sees the drive. */
  readonly prefix: readonly string[];
  hang(): Promise<void>;
  answer(): void;
}

/** The drive is the robot's folder `drive`, and shows the content of the folder `backing`. */
export async function mountDrive(robot: Pick<Robot, "path">): Promise<Drive> {
  const program = new URL("silent-filesystem.ts", import.meta.url);
  const [unshare, ...prefix] = withOwnMounts;
  const child = spawn(
    unshare,
    [...prefix, process.execPath, program.pathname, robot.path("backing"), robot.path("drive")],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  endWithTest(child);
  const ended = once(child, "exit");
  if (child.stdout !== null) await Promise.race([once(child.stdout, "data"), ended]);
  const hung = robot.path("backing/.hung");
  return {
    prefix: ["nsenter", `--target=${child.pid}`, "--mount"],
    async hang() {
      // Hangs between two requests. If the server had taken a request, even kill -9 could not end the wait, unlike on a network drive.
      await stat(`/proc/${child.pid}/root${robot.path("drive/.hang")}`).catch(() => {});
      await eventually(async () => existsSync(hung) || undefined, "the drive to hang");
    },
    answer: () => rmSync(hung),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
