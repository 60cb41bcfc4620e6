import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { isLocked } from "./lock.ts";

/**
 * Locks a data directory for one service. A second service on it would be a configuration mistake that nobody notices, and both would
 * stall at every commit.
 *
 * The lock is an exclusive transaction on an empty database beside the real one. The kernel releases it however the process ends. Node
 * offers no other file lock.
 *
 * @returns null while another process holds the directory.
 * @throws where the directory cannot be written.
 */
export function lockDirectory(directory: string): Disposable | null {
  const lock = new DatabaseSync(join(directory, "service.lock"), { timeout: 0 });
  try {
    lock.exec("begin exclusive");
  } catch (error) {
    lock.close();
    if (isLocked(error)) return null;
    throw error;
  }
  return { [Symbol.dispose]: () => lock.close() };
}
