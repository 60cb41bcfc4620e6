import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { issueNotice } from "../../../../src/agent/commands/enroll.ts";
import type { IdentityStatus } from "../../../../src/agent/status.ts";
import { type Files, systemFiles } from "../../../../src/platform/files/files.ts";
import { temporaryFolder } from "../../look/machine.ts";

/** The disk of a robot whose root directory is `root`. */
function below(root: string): Files {
  const at = (path: string) => join(root, path);
  return {
    ...systemFiles,
    createExclusive: (path, ...more) => systemFiles.createExclusive(at(path), ...more),
    rename: (from, to) => systemFiles.rename(at(from), at(to)),
    remove: (path) => systemFiles.remove(at(path)),
    syncDirectory: (path) => systemFiles.syncDirectory(at(path)),
    makeDirectory: (path, mode) => systemFiles.makeDirectory(at(path), mode),
  };
}

function waitingFor(code: string): IdentityStatus {
  return {
    state: "waiting-for-approval",
    key_fingerprint: "SHA256:abc",
    user_code: code,
    waits_because: null,
    code_expires_at: "2026-11-23T12:10:00.000Z",
    robot: null,
    installation_id: null,
    credential_expires_at: null,
    last_heartbeat_at: null,
    problem: null,
    problem_state: null,
  };
}

test("enroll --issue: while waiting → the newest code and the key above the login prompt, afterwards nothing", async () => {
  const root = await temporaryFolder();
  const folder = join(root, "etc/issue.d");
  await mkdir(join(root, "etc"));
  {
    await using issue = issueNotice(below(root));
    expect(await issue.show(waitingFor("AAAA-2222"))).toBeNull();
    expect(await issue.show(waitingFor("BBBB-3333"))).toBeNull();
    const names = await readdir(folder);
    expect(names).toEqual(["robot-policy-agent.issue"]);
    expect(await readFile(join(folder, names[0] ?? ""), "utf8")).toMatchInlineSnapshot(`
      "This robot waits for approval until 2026-11-23T12:10:00.000Z: code BBBB-3333, key SHA256:abc
      "
    `);
  }
  expect(await readdir(folder)).toEqual([]);
});

test("enroll --issue: user without write permission → error that suggests root", async () => {
  const root = await temporaryFolder();
  const denied: Files = {
    ...below(root),
    makeDirectory: () => Promise.reject(Object.assign(new Error("no"), { code: "EACCES" })),
  };
  await using issue = issueNotice(denied);
  expect(await issue.show(waitingFor("AAAA-2222"))).toBe(
    "/etc/issue.d/robot-policy-agent.issue cannot be written (EACCES); run this as root",
  );
});
