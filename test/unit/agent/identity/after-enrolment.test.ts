import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { discardApiKey } from "../../../../src/agent/identity/after-enrolment.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { systemMachine } from "../../../../src/platform/machine.ts";
import { testFolder } from "../../../support/folder.ts";

test("discardApiKey: removes the key file durably", async () => {
  const folder = testFolder("after-enrolment");
  const [configPath, keyPath] = [join(folder, "config.yaml"), join(folder, "api-key")];
  await writeFile(configPath, `service: {url: "https://policy.example", key_file: ${keyPath}}\nrobot: {region: eu}\n`);
  await writeFile(keyPath, "sk_test_0123456789abcdef\n", { mode: 0o600 });
  const durable: string[][] = [];
  const files = {
    ...systemFiles,
    async syncDirectory(directory: string) {
      await systemFiles.syncDirectory(directory);
      durable.push([directory, ...(await readdir(directory))]);
    },
  };
  const machine = { ...systemMachine({}, process.pid), files };
  const context = { machine, environment: {}, userId: process.getuid?.() ?? 0 };
  expect(await discardApiKey({ configPath, credentialsDirectory: null }, context)).toEqual({
    key: { last4: "cdef", path: keyPath, isRemoved: true },
  });
  expect(durable).toEqual([[folder, "config.yaml"]]);
});

test("discardApiKey: the file cannot be removed → a command for exactly that file", async () => {
  const folder = join(testFolder("after-enrolment"), "my robot");
  await mkdir(folder);
  const [configPath, keyPath] = [join(folder, "config.yaml"), join(folder, "api-key")];
  await writeFile(
    configPath,
    `service: {url: "https://policy.example", key_file: "${keyPath}"}\nrobot: {region: eu}\n`,
  );
  await writeFile(keyPath, "sk_test_0123456789abcdef\n", { mode: 0o600 });
  const remove = () => Promise.reject(Object.assign(new Error("read-only"), { code: "EROFS" }));
  const machine = { ...systemMachine({}, process.pid), files: { ...systemFiles, remove } };
  const context = { machine, environment: {}, userId: process.getuid?.() ?? 0 };
  const { problem } = await discardApiKey({ configPath, credentialsDirectory: null }, context);
  expect(problem?.fix).toBe(`remove it as root: rm '${keyPath}'`);
});
