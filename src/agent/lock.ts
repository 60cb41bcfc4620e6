import { createServer } from "node:net";

import type { Files, FileStat } from "../platform/files.ts";
import { errorCode } from "../platform/files.ts";
import type { Problem } from "../platform/terminal.ts";

/** Held while one daemon works on a state directory. */
export interface StateLock extends AsyncDisposable {}

export type TakenLock =
  | { readonly kind: "lock"; readonly lock: StateLock }
  /** Another process holds it. */
  | { readonly kind: "held" }
  | { readonly kind: "problem"; readonly problem: Problem };

/**
 * Takes the one place beside a state directory.
 *
 * The lock is an abstract unix socket (unix(7)) named after the directory's device and inode: the kernel drops it with the process, so
 * there is nothing stale after a power cut or kill -9, and nothing on the disk. It holds within one network namespace, and any local
 * user may take the name first: then the agent says so and does not start, which keeps the state safe.
 */
export async function lockState(files: Files, state_directory: string): Promise<TakenLock> {
  try {
    await files.makeDirectory(state_directory, 0o750);
    const lock = await listenBeside(await files.stat(state_directory));
    return lock === null ? { kind: "held" } : { kind: "lock", lock };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const what = `the state directory cannot be used (${code})`;
    const fix = "run this as root or as the agent's user, or name another folder: --state-dir DIR";
    return { kind: "problem", problem: { code: "state-unusable", what, where: state_directory, fix } };
  }
}

function listenBeside({ device, inode }: FileStat): Promise<StateLock | null> {
  const server = createServer((connection) => connection.destroy());
  // The lock alone keeps no process alive.
  server.unref();
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      if (errorCode(error) === "EADDRINUSE") resolve(null);
      else reject(error);
    });
    server.listen(`\0robot-policy-agent/${device}:${inode}`, () => {
      resolve({
        [Symbol.asyncDispose]: () => new Promise((closed) => server.close(() => closed())),
      });
    });
  });
}
