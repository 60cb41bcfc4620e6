import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it, onTestFinished } from "vitest";

import { openContextFiles } from "../../../../src/operator/logins/context-files.ts";
import { watchedFiles } from "../../../support/robot/watched-files.ts";

it("a context that is removed, with the login in it, is not back after a power cut", async () => {
  const folder = await mkdtemp(join(tmpdir(), "contexts-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const steps: string[] = [];
  const contexts = openContextFiles(folder, watchedFiles(steps), process.getuid?.() ?? 0);
  const service = { url: "https://robots.example", ca_file: null, allow_insecure: false, key_file: null, login: null };
  for (const name of ["lab", "hall"]) expect(await contexts.save({ ...service, name })).toBeNull();
  steps.length = 0;
  expect(await contexts.remove("lab")).toBeNull();
  expect(steps).toEqual(["remove lab.json", "sync the folder of hall.json"]);
  expect(await contexts.names()).toEqual(["hall"]);
});
