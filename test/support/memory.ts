import { existsSync } from "node:fs";
import { tmpdir } from "node:os";

/**
 * Where small files are made that are synced again and again: in memory, where there is some, so that nobody waits for the disk. A script
 * that runs tests names a folder of its own.
 */
export const memoryFolder = process.env["ROBOT_POLICY_TEST_MEMORY"] ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
