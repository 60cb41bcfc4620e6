import { symlink } from "node:fs/promises";
import { join } from "node:path";

import { expect, it } from "vitest";

import { openContextFiles } from "../../../../src/operator/logins/context-files.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";
import { watchedFiles } from "../../../support/robot/watched-files.ts";

it("removed context with a login → stays removed after a power cut", async () => {
  const folder = testFolder("contexts");
  const steps: string[] = [];
  const contexts = openContextFiles(folder, watchedFiles(steps), process.getuid?.() ?? 0, () => {});
  const service = { url: "https://robots.example", ca_file: null, allow_insecure: false, key_file: null, login: null };
  for (const name of ["lab", "hall"]) expect(await contexts.save({ ...service, name })).toBeNull();
  steps.length = 0;
  expect(await contexts.remove("lab")).toBeNull();
  expect(steps).toEqual(["remove lab.json", "sync the folder of hall.json"]);
  expect(await contexts.names()).toEqual(["hall"]);
});

it("contexts that cannot be read → count as none, with one warning; a missing folder → none, without a warning", async () => {
  const folder = testFolder("contexts");
  const warnings: string[] = [];
  const contexts = openContextFiles(folder, systemFiles, 1000, (text) => warnings.push(text));
  expect([await contexts.names(), await contexts.current(), warnings]).toEqual([[], null, []]);
  for (const name of ["contexts", "current-context"]) await symlink(name, join(folder, name));
  expect([await contexts.names(), await contexts.names(), await contexts.current()]).toEqual([[], [], null]);
  const path = join(folder, "contexts");
  expect(warnings).toEqual([`${path} cannot be read (ELOOP); check ${path}`]);
});

it("context of another user → the command that gives it back, which only root may run", async () => {
  const folder = testFolder("contexts");
  const files = { ...systemFiles, stat: async (path: string) => ({ ...(await systemFiles.stat(path)), userId: 1234 }) };
  const contexts = openContextFiles(folder, files, 1000, () => {});
  const service = { url: "https://robots.example", ca_file: null, allow_insecure: false, key_file: null, login: null };
  expect(await contexts.save({ ...service, name: "lab" })).toBeNull();
  expect(await contexts.find("lab")).toMatchObject({
    problem: { what: `cannot use ${folder}: it belongs to user 1234`, fix: `sudo chown -R 1000 ${folder}` },
  });
});
