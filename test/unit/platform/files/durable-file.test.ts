import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { readBounded, replaceDurably } from "../../../../src/platform/files/durable-file.ts";
import { type Files, systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";
import { watchedFiles } from "../../../support/robot/watched-files.ts";

let folder = "";
beforeEach(() => void (folder = testFolder("durable-file")));

describe("readBounded", () => {
  test.each([0, 1, 4095, 4096, 4097, 10_000])(
    "file of %i bytes → read at the limit, refused beyond it",
    async (sizeBytes) => {
      const path = join(folder, "file");
      await writeFile(path, "x".repeat(sizeBytes));
      expect(await readBounded(systemFiles, path, sizeBytes)).toHaveLength(sizeBytes);
      await writeFile(path, "x".repeat(sizeBytes + 1));
      expect(await readBounded(systemFiles, path, sizeBytes)).toBe("too-large");
    },
  );

  test("file of size 0 with content → read", async () => {
    const path = "/proc/self/limits";
    const bytes = await readBounded(systemFiles, path, 100_000);
    expect(bytes).toHaveLength((await readFile(path)).byteLength);
  });

  test("directory → refused", async () => {
    await expect(readBounded(systemFiles, folder, 100)).rejects.toMatchObject({ code: "EINVAL" });
  });
});

describe("replaceDurably", () => {
  const bytes = new TextEncoder().encode("new");
  const state = () => join(folder, "state.json");

  test("bytes are synced before the rename, and the rename before it resolves", async () => {
    const steps: string[] = [];
    await writeFile(state(), "old");
    await replaceDurably(watchedFiles(steps), state(), bytes, 0o600);
    expect(await readFile(state(), "utf8")).toBe("new");
    expect(steps).toEqual([
      "create state.json.new",
      "sync 3 bytes of state.json.new",
      "rename state.json.new to state.json",
      "sync the folder of state.json",
    ]);
  });

  test("temporary file left by a power cut → replaced", async () => {
    await writeFile(`${state()}.new`, "half of an older one");
    await replaceDurably(systemFiles, state(), bytes, 0o600);
    expect(await readdir(folder)).toEqual(["state.json"]);
    expect(await readFile(state(), "utf8")).toBe("new");
  });

  const full = () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }));
  test.each<[string, Partial<Awaited<ReturnType<Files["createExclusive"]>>>]>([
    ["write", { write: full }],
    ["sync", { sync: full }],
  ])("disk full at %s → only the old content is there, error", async (_step, failing) => {
    await writeFile(state(), "old");
    const files: Files = {
      ...systemFiles,
      createExclusive: async (...args) => ({ ...(await systemFiles.createExclusive(...args)), ...failing }),
    };
    await expect(replaceDurably(files, state(), bytes, 0o600)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(await readFile(state(), "utf8")).toBe("old");
    expect(await readdir(folder)).toEqual(["state.json"]);
  });
});
