import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { readBounded } from "../../../src/platform/durable-file.ts";
import { systemFiles } from "../../../src/platform/files.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "durable-file-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("readBounded", () => {
  test.each([0, 1, 4095, 4096, 4097, 10_000])(
    "a file of %i bytes at the limit is read whole, beyond it not",
    async (size_bytes) => {
      const path = join(folder, "file");
      await writeFile(path, "x".repeat(size_bytes));
      expect(await readBounded(systemFiles, path, size_bytes)).toHaveLength(size_bytes);
      await writeFile(path, "x".repeat(size_bytes + 1));
      expect(await readBounded(systemFiles, path, size_bytes)).toBe("too-large");
    },
  );

  test("a file that claims to be empty is read all the same", async () => {
    const path = "/proc/self/limits";
    const bytes = await readBounded(systemFiles, path, 100_000);
    expect(bytes).toHaveLength((await readFile(path)).byteLength);
  });

  test("a directory is refused", async () => {
    await expect(readBounded(systemFiles, folder, 100)).rejects.toMatchObject({ code: "EINVAL" });
  });
});
