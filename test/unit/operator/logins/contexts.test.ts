import { symlink } from "node:fs/promises";
import { join } from "node:path";

import { expect, it } from "vitest";

import type { OperatorContext } from "../../../../src/operator/context.ts";
import { NO_CONTEXTS, readContexts, saveContexts } from "../../../../src/operator/logins/contexts.ts";
import { type Files, systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";
import { watchedFiles } from "../../../support/robot/watched-files.ts";

const LAB = { name: "lab", url: "https://robots.example", ca_file: null, allow_insecure: false, key_file: null };
const ONE = { all: [{ ...LAB, login: null }], current: "lab" };

function contextIn(home: string, files: Files = systemFiles, userId = process.getuid?.() ?? 0): OperatorContext {
  return { environment: { HOME: home }, machine: { files }, userId } as unknown as OperatorContext;
}

it("saved contexts → replaced at once, also after a power cut", async () => {
  const steps: string[] = [];
  const context = contextIn(testFolder("contexts"), watchedFiles(steps));
  expect(await saveContexts(ONE, context)).toBeNull();
  expect(await readContexts(context)).toEqual(ONE);
  steps.length = 0;
  expect(await saveContexts(NO_CONTEXTS, context)).toBeNull();
  expect(steps.findLast((step) => step.includes("contexts.json"))).toBe("sync the folder of contexts.json");
  expect(await readContexts(context)).toEqual(NO_CONTEXTS);
});

it("no file → no contexts; one that cannot be read → a problem", async () => {
  const home = testFolder("contexts");
  const context = contextIn(home);
  expect(await readContexts(context)).toEqual(NO_CONTEXTS);
  expect(await saveContexts(ONE, context)).toBeNull();
  const path = join(home, ".config/robot-policy/contexts.json");
  await systemFiles.remove(path);
  await symlink("contexts.json", path);
  const problem = { what: `cannot use ${path}: it cannot be read (ELOOP)`, fix: `check ${path}` };
  expect(await readContexts(context)).toMatchObject(problem);
});

it("contexts of another user → the command that gives them back, which only root may run", async () => {
  const home = testFolder("contexts");
  const files = { ...systemFiles, stat: async (path: string) => ({ ...(await systemFiles.stat(path)), userId: 1234 }) };
  const context = contextIn(home, files, 1000);
  expect(await saveContexts(ONE, context)).toBeNull();
  const folder = join(home, ".config/robot-policy");
  expect(await readContexts(context)).toMatchObject({
    what: `cannot use ${folder}/contexts.json: other users can access the logins in it`,
    fix: `sudo chown -R 1000 ${folder}; chmod -R go= ${folder}`,
  });
});
