import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { discardApiKey } from "../../../../src/agent/identity/after-enrolment.ts";
import { type Files, systemFiles } from "../../../../src/platform/files/files.ts";
import { systemMachine } from "../../../../src/platform/machine.ts";
import { testFolder } from "../../../support/folder.ts";

/** Discards the key of a robot whose configuration and key lie in this folder. */
async function discardIn(folder: string, disk: Partial<Files>) {
  await mkdir(folder, { recursive: true });
  const [configPath, keyPath] = [join(folder, "config.yaml"), join(folder, "api-key")];
  await writeFile(configPath, `service: {url: "https://a.example", key_file: "${keyPath}"}\nrobot: {region: eu}\n`);
  await writeFile(keyPath, "sk_test_0123456789abcdef\n", { mode: 0o600 });
  const machine = { ...systemMachine({}, process.pid), files: { ...systemFiles, ...disk } };
  const context = { machine, environment: {}, userId: process.getuid?.() ?? 0 };
  return { keyPath, ...(await discardApiKey({ configPath, credentialsDirectory: null }, context)) };
}

test("discardApiKey: removes the key file durably", async () => {
  const folder = testFolder("after-enrolment");
  const durable: string[][] = [];
  const { key, keyPath } = await discardIn(folder, {
    async syncDirectory(directory: string) {
      await systemFiles.syncDirectory(directory);
      durable.push([directory, ...(await readdir(directory))]);
    },
  });
  expect(key).toEqual({ last4: "cdef", path: keyPath, isRemoved: true });
  expect(durable).toEqual([[folder, "config.yaml"]]);
});

test("discardApiKey: the file cannot be removed → a command for exactly that file", async () => {
  const remove = () => Promise.reject(Object.assign(new Error("read-only"), { code: "EROFS" }));
  const { keyPath, problem } = await discardIn(join(testFolder("after-enrolment"), "my robot"), { remove });
  expect(problem?.fix).toBe(`remove it as root: rm '${keyPath}'`);
});
