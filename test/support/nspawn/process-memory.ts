import { closeSync, openSync, readFileSync, readSync } from "node:fs";

import { errorCode } from "../../../src/platform/files/files.ts";

const CHUNK_BYTES = 8 * 1024 * 1024;

/**
 * Which of these ASCII texts are in the writable memory of a process, as in a core dump.
 *
 * @param folder of the process, such as /proc/12.
 */
export function textsInMemory(folder: string, texts: readonly string[]): readonly string[] {
  const wanted = texts.map((text) => Buffer.from(text, "latin1"));
  const overlap = Math.max(...wanted.map(({ byteLength }) => byteLength));
  const found = new Set<number>();
  const memory = openSync(`${folder}/mem`, "r");
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (const line of readFileSync(`${folder}/maps`, "latin1").split("\n")) {
      const [, from = "", to = ""] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      const end = Number.parseInt(to, 16);
      for (let at = Number.parseInt(from, 16); at < end; at += CHUNK_BYTES - overlap) {
        const length = readPresent(memory, chunk, Math.min(CHUNK_BYTES, end - at), at);
        wanted.forEach((bytes, index) => void (chunk.subarray(0, length).includes(bytes) && found.add(index)));
      }
    }
  } finally {
    closeSync(memory);
  }
  return texts.filter((_, index) => found.has(index));
}

/** @returns 0 for a range that the process has unmapped since its maps were read. */
function readPresent(memory: number, chunk: Buffer, bytes: number, at: number): number {
  try {
    return readSync(memory, chunk, 0, bytes, at);
  } catch (error) {
    if (errorCode(error) !== "EIO") throw error;
    return 0;
  }
}
