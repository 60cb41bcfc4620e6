import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, it, test } from "vitest";

import { Secret } from "../../../../src/client/secret.ts";

import type { OperatorContext } from "../../../../src/operator/context.ts";
import { chooseService } from "../../../../src/operator/logins/choose-service.ts";
import { saveContexts } from "../../../../src/operator/logins/contexts.ts";
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

const LAB = "https://lab.example";
const HALL = "https://hall.example";
const KEY = { ROBOT_POLICY_API_KEY: "sk_test_key" };

function contextWith(environment: Record<string, string>): OperatorContext {
  const machine = { files: systemFiles };
  return {
    environment,
    machine,
    userId: process.getuid?.() ?? 0,
  } as unknown as OperatorContext;
}

const NO_LOGIN = { ca_file: null, allow_insecure: false, key_file: null, login: null };
const login = { token: new Secret("t"), signed_in_at: "2026-01-31", expires_at: null, organization: null };
const SAVED = {
  all: [
    { ...NO_LOGIN, name: "a", url: LAB },
    { ...NO_LOGIN, name: "hall", url: HALL, key_file: "/hall.key" },
    { ...NO_LOGIN, name: "lab", url: LAB, login },
  ],
  current: "lab",
};

test.each<[flags: object, environment: Record<string, string>, chosen: string]>([
  [{}, {}, `${LAB} lab login`],
  [{}, KEY, `${LAB} lab environment`],
  [{ keyFile: "/k" }, KEY, `${LAB} lab key-file`],
  [{ context: "hall" }, {}, `${HALL} hall context-key-file`],
  // A context that is named in this command overrides a key in the environment.
  [{ context: "lab" }, KEY, `${LAB} lab login`],
  [{ context: "lab" }, { ROBOT_POLICY_URL: HALL }, `${LAB} lab login`],
  [{}, { ROBOT_POLICY_CONTEXT: "hall" }, `${HALL} hall context-key-file`],
  [{}, { ROBOT_POLICY_CONTEXT: "hall", ROBOT_POLICY_URL: LAB }, `${LAB} a none`],
  // Of two contexts with an address, the current one; else the first.
  [{ url: `${LAB}/` }, {}, `${LAB} lab login`],
  [{ url: LAB }, { ROBOT_POLICY_CONTEXT: "hall" }, `${LAB} a none`],
  [{}, { ROBOT_POLICY_URL: HALL }, `${HALL} hall context-key-file`],
  // No login and no key file go to another address.
  [{ url: "https://other.example" }, {}, "https://other.example null none"],
  [{ url: "https://other.example", context: "lab" }, {}, "https://other.example null none"],
  [{ url: "https://other.example", context: "hall" }, KEY, "https://other.example null environment"],
  [{ context: "nobody" }, {}, "no-context"],
  [{}, { HOME: "/nowhere" }, "no-service"],
])("%j with %j → %s", async (flags, environment, expected) => {
  const home = { HOME: testFolder("contexts") };
  expect(await saveContexts(SAVED, contextWith(home))).toBeNull();
  const chosen = await chooseService(flags, contextWith({ ...home, ...environment }));
  const text =
    "code" in chosen ? chosen.code : `${chosen.baseUrl} ${chosen.context?.name ?? null} ${chosen.credential.source}`;
  expect(text).toBe(expected);
});
