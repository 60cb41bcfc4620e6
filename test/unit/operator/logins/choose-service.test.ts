import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, it } from "vitest";

import type { OperatorContext } from "../../../../src/operator/context.ts";
import { chooseService } from "../../../../src/operator/logins/choose-service.ts";
import { type Files, systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";

const openForeign: Files["openForReading"] = async (path) => {
  const file = await systemFiles.openForReading(path);
  const stat = await file.stat();
  return Object.assign(file, { stat: async () => ({ ...stat, userId: 1234 }) });
};
const openForbidden = () => Promise.reject(Object.assign(new Error("denied"), { code: "EACCES" }));

it.each([
  ["the key file belongs to another user", openForeign],
  ["the key file cannot be read (EACCES)", openForbidden],
])("%s → the command that gives it back, which only root may run", async (what, openForReading) => {
  const path = join(testFolder("key"), "api-key");
  await writeFile(path, "sk_rps_key\n", { mode: 0o600 });
  const files: Files = { ...systemFiles, openForReading };
  const context = { environment: {}, machine: { files }, userId: 1000 } as unknown as OperatorContext;
  const chosen = await chooseService({ url: "https://robots.example", keyFile: path }, context);
  expect("baseUrl" in chosen && (await chosen.loadCredential())).toMatchObject({
    what,
    fix: `sudo chown 1000 ${path}`,
  });
});
