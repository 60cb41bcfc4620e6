import { existsSync } from "node:fs";
import { tmpdir } from "node:os";

/**
 * Folder for small files that are synced often: on tmpfs where available, so that no test waits for the disk. A script that runs tests
 * can choose another one.
 */
export const memoryFolder = process.env["ROBOT_POLICY_TEST_MEMORY"] ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
