import { createServer } from "node:net";

import { errorCode } from "../platform/files.ts";
import type { Disk } from "./disk.ts";

/**
 * Takes the one place for work on a tree. An abstract unix socket (unix(7)): the kernel drops it with the process, so that nothing is
 * stale after kill -9.
 *
 * @returns null when another installer works there.
 */
export function lockTree(disk: Disk): Promise<AsyncDisposable | null> {
  const server = createServer((connection) => connection.destroy());
  server.unref();
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      if (errorCode(error) === "EADDRINUSE") resolve(null);
      else reject(error);
    });
    server.listen(`\0robot-policy-agent-install/${disk.id}`, () => {
      resolve({ [Symbol.asyncDispose]: () => new Promise((closed) => server.close(() => closed())) });
    });
  });
}
