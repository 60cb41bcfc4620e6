import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";

import { beforeEach, expect, test } from "vitest";

import { type Credential, type CredentialProblem, loadCredential } from "../../../src/client/credential.ts";
import { type Files, systemFiles } from "../../../src/platform/files/files.ts";
import { testFolder } from "../../support/folder.ts";

const KEY = "sk_rps_CANARYcanary0123456789abcdef";
const { uid } = userInfo();

let folder: string;
let keyFile: string;
beforeEach(() => {
  folder = testFolder("credentials");
  keyFile = join(folder, "api-key");
});

function write(path: string, content: string | Uint8Array, mode = 0o600): void {
  writeFileSync(path, content);
  chmodSync(path, mode);
}

const load = (files: Files = systemFiles, serviceUserId = uid) => loadCredential({ keyFile, serviceUserId }, files);

function keyOf(found: Credential | CredentialProblem): string {
  return found.kind === "credential" ? `${found.source} ${found.secret.reveal()}` : found.code;
}

test.each([
  ["as it is", KEY],
  ["with a line feed", `${KEY}\n`],
  ["with a Windows line ending", `${KEY}\r\n`],
  ["short", "sk_a_b"],
  ["with every character allowed in a bearer token", "sk_A9_a-._~+/z=="],
])("loadCredential: key %s → accepted", async (_name, content) => {
  write(keyFile, content);
  expect(keyOf(await load())).toBe(`key-file ${content.trim()}`);
});

test.each([
  ["nothing", "", "key-empty"],
  ["a line feed", "\n", "key-empty"],
  ["a second line", `${KEY}\nmore\n`, "key-several-lines"],
  ["a line before the key", `\n${KEY}`, "key-several-lines"],
  ["a space after the key", `${KEY} \n`, "key-space"],
  ["a space inside", `${KEY.slice(0, 20)} ${KEY.slice(20)}`, "key-space"],
  ["a byte order mark", `\uFEFF${KEY}`, "key-space"],
  ["a variable", `ROBOT_POLICY_API_KEY=${KEY}`, "key-form"],
  ["quotes", `"${KEY}"`, "key-form"],
  ["a placeholder", "sk_<marker>_<API_KEY>", "key-form"],
  ["a zero byte", `${KEY}\0`, "key-form"],
  ["bytes that are not text", new Uint8Array([0xff, 0xfe, 0x73]), "key-form"],
  ["half a key", "sk_rps_", "key-form"],
  ["another secret", "ghp_0123456789", "key-form"],
  ["a key that is too long", `sk_rps_${"x".repeat(600)}`, "key-form"],
  ["a file that is too large for a key", KEY.repeat(1_000), "key-too-large"],
])("loadCredential: %s → problem that does not repeat it", async (_name, content, code) => {
  write(keyFile, content);
  const found = await load();
  expect(found).toMatchObject({ kind: "credential-problem", code, where: keyFile });
  expect(JSON.stringify(found)).not.toContain("CANARY");
});

test.each([
  [0o600, "key-file"],
  [0o400, "key-file"],
  [0o700, "key-file"],
  [0o640, "key-exposed"],
  [0o604, "key-exposed"],
  [0o620, "key-exposed"],
  [0o602, "key-exposed"],
  [0o644, "key-exposed"],
  [0o666, "key-exposed"],
])("scenario 17: key file of mode %o → %s", async (mode, expected) => {
  write(keyFile, KEY, mode);
  expect(keyOf(await load()).split(" ")[0]).toBe(expected);
});

test("scenario 17: exposed key file → the suggested command fixes it", async () => {
  keyFile = join(folder, "it's a key");
  write(keyFile, KEY, 0o644);
  const found = await load();
  if (found.kind !== "credential-problem") throw new Error("expected a problem");
  expect(found.what).toBe("the key file has mode 0644: others can read or write it");
  expect(found.fix).toBe(`chmod 600 '${folder}/it'\\''s a key'`);
  execFileSync("sh", ["-c", found.fix]);
  expect(keyOf(await load())).toBe(`key-file ${KEY}`);
});

test("scenario 17: key file in a folder writable by everyone → refused with the exact chmod", async () => {
  write(keyFile, KEY);
  const folder = dirname(keyFile);
  chmodSync(folder, 0o777);
  expect(await load()).toMatchObject({ code: "key-exposed", where: folder, fix: `chmod o-w ${folder}` });
  // The sticky bit, as on /tmp, protects files from users who do not own them.
  chmodSync(folder, 0o1777);
  expect(keyOf(await load())).toBe(`key-file ${KEY}`);
});

test("scenario 17: key file of another user → refused with the exact chown", async () => {
  write(keyFile, KEY);
  // Only root can give files away; other users test with a service that runs as another user.
  if (uid === 0) chownSync(keyFile, 12_345, 12_345);
  const service = uid === 0 ? 54_321 : uid + 1;
  expect(await load(systemFiles, service)).toMatchObject({
    code: "key-owner",
    fix: `chown ${service} ${keyFile}`,
  });
});

test.runIf(uid === 0)(
  "scenario 17: key file of root or of the service → accepted",
  { tags: "needs/root" },
  async () => {
    write(keyFile, KEY);
    expect(keyOf(await load(systemFiles, 54_321))).toBe(`key-file ${KEY}`);
    chownSync(keyFile, 54_321, 54_321);
    expect(keyOf(await load(systemFiles, 54_321))).toBe(`key-file ${KEY}`);
  },
);

const failing = (code: string) => () => Promise.reject(Object.assign(new Error("no"), { code }));

test.each<[string, Partial<Files>, what: string, fix: string]>([
  ["cannot be opened", { openForReading: failing("EACCES") }, "the key file cannot be read (EACCES)", "chown"],
  [
    "is on a bad disk",
    { openForReading: async (path) => ({ ...(await systemFiles.openForReading(path)), read: failing("EIO") }) },
    "the key file cannot be read (EIO)",
    "check",
  ],
])("loadCredential: key file that %s → problem with what to do", async (_name, broken, what, fix) => {
  write(keyFile, KEY);
  expect(await load({ ...systemFiles, ...broken })).toMatchObject({
    code: "key-unreadable",
    what,
    fix: `${fix}${fix === "chown" ? ` ${uid}` : ""} ${keyFile}`,
  });
});

test("loadCredential: key file that the unit hides → the unit is named, not set-key", async () => {
  const table = `1 0 0:25 /systemd/inaccessible/dir ${dirname(keyFile)} ro - tmpfs tmpfs rw\n`;
  expect(await load({ ...systemFiles, mountsNow: () => table })).toMatchObject({
    code: "key-unreadable",
    what: `the unit hides the key file from the agent (InaccessiblePaths=${dirname(keyFile)})`,
    fix: "move the file, or change the setting: systemctl edit robot-policy-agent",
  });
});

test.each([
  ["a folder", () => mkdirSync(keyFile), "key-not-a-file"],
  ["a FIFO", () => execFileSync("mkfifo", [keyFile]), "key-not-a-file"],
  ["a link to itself", () => symlinkSync(keyFile, keyFile), "key-unreadable"],
  ["a link to nothing", () => symlinkSync("/nonexistent/key", keyFile), "key-missing"],
  ["absent", () => {}, "key-missing"],
])("loadCredential: key file that is %s → problem", async (_name, make, code) => {
  make();
  expect(await load()).toMatchObject({ code, where: keyFile });
});

test("loadCredential: several keys → systemd, then the key file, then the environment", async () => {
  const credentialsDirectory = join(folder, "credentials");
  mkdirSync(credentialsDirectory);
  const sources = { credentialsDirectory, keyFile, environmentKey: "sk_env_3", serviceUserId: uid };
  write(join(credentialsDirectory, "api-key"), "sk_systemd_1", 0o440);
  write(keyFile, "sk_file_2");
  expect(keyOf(await loadCredential(sources, systemFiles))).toBe("systemd sk_systemd_1");
  rmSync(join(credentialsDirectory, "api-key"));
  expect(keyOf(await loadCredential(sources, systemFiles))).toBe("key-file sk_file_2");
  rmSync(keyFile);
  expect(keyOf(await loadCredential(sources, systemFiles))).toBe("environment sk_env_3");
  expect(await loadCredential({ ...sources, environmentKey: "" }, systemFiles)).toMatchObject({
    code: "key-missing",
    where: keyFile,
  });
  expect(await loadCredential({ serviceUserId: uid }, systemFiles)).toMatchObject({ code: "key-missing" });
});

test("loadCredential: invalid key file or environment → problem that names it, later places are not tried", async () => {
  write(keyFile, KEY, 0o644);
  expect(await loadCredential({ keyFile, environmentKey: KEY, serviceUserId: uid }, systemFiles)).toMatchObject({
    code: "key-exposed",
  });
  expect(await loadCredential({ environmentKey: `"${KEY}"`, serviceUserId: uid }, systemFiles)).toMatchObject({
    code: "key-form",
    where: "ROBOT_POLICY_API_KEY",
  });
});

test("scenario 18: key replaced atomically, or by a link as in Kubernetes secrets → found by the next load", async () => {
  write(keyFile, "sk_old_1");
  expect(keyOf(await load())).toBe("key-file sk_old_1");
  write(join(folder, "new"), "sk_new_2");
  renameSync(join(folder, "new"), keyFile);
  expect(keyOf(await load())).toBe("key-file sk_new_2");
  write(join(folder, "newest"), "sk_newest_3");
  rmSync(keyFile);
  symlinkSync("newest", keyFile);
  expect(keyOf(await load())).toBe("key-file sk_newest_3");
});

test("scenario 16: printed credential → never contains the key", async () => {
  write(keyFile, KEY);
  const found = await load();
  const shown = [inspect(found, { depth: Infinity, showHidden: true }), JSON.stringify(found)];
  if (found.kind === "credential") shown.push(`${String(found.secret)}${found.secret}`);
  expect(shown.join(" ")).not.toContain("CANARY");
  expect(shown.join(" ")).toContain("[secret]");
});
