import { existsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Where small files are made that are synced again and again: in memory, where there is some, so that nobody waits for the disk. */
export const memoryFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
