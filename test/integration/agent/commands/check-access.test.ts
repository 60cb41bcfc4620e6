/** `check` for the agent's user: files it cannot read, problems of the key, and checks that are not possible. */
import { chmod, chown, copyFile, rm, writeFile } from "node:fs/promises";
import { relative } from "node:path";

import { describe, expect, test } from "vitest";

import { asNobody, canBecomeNobody, NOBODY_ID } from "../../../support/programs/programs.ts";
import { replaceIn } from "../../../support/robot/robot.ts";
import { createScene } from "../../../support/service/scene.ts";
import { createAuthority } from "../../client/authority.ts";

interface Checked {
  readonly valid: boolean;
  readonly findings: readonly {
    readonly id: string;
    readonly severity: string;
    readonly line: number;
    readonly message: string;
  }[];
  readonly checked_as: { readonly user_id: number; readonly is_agent: boolean };
}

describe.skipIf(!canBecomeNobody)("check (needs root)", { tags: "needs/root" }, () => {
  /** A robot whose agent runs as `nobody`, with one file in a folder that only root may enter. */
  async function closedScene() {
    const scene = await createScene({ files: { "open.yaml": "a: 1\n", "closed/arm.json": "{}\n" } });
    const { robot } = scene;
    await chmod(robot.folder, 0o755);
    await chmod(robot.path("closed"), 0o700);
    await chmod(robot.path("closed/arm.json"), 0o600);
    for (const path of [robot.state_directory, robot.keyPath]) await chown(path, NOBODY_ID, NOBODY_ID);
    return scene;
  }

  test.each([
    ["root, for the agent's user", []],
    ["the agent's user", asNobody],
  ])(
    "run by %s → the folder that blocks access, at the line that lists the file, with the command that fixes it",
    async (_who, through) => {
      await using scene = await closedScene();
      const { code, stdout } = await scene.robot.runProcess(["check", "--json"], {}, through);
      const { findings, checked_as: checkedAs } = JSON.parse(stdout) as Checked;
      expect([code, checkedAs]).toEqual([3, { user_id: NOBODY_ID, is_agent: true }]);
      expect(findings).toHaveLength(1);
      expect(findings[0]).toMatchObject({ id: "file_unreadable", severity: "error", line: 4 });
      const { message = "" } = findings[0] ?? {};
      expect(message).toContain(`nobody may not enter ${scene.robot.path("closed")} (mode 0700, of user 0)`);
      expect(message).toContain("sudo robot-policy-agent grant");
      // Only root sees beyond the closed folder.
      expect(message).toContain(
        through.length === 0 ? `nor ${scene.robot.path("closed/arm.json")}` : "this user cannot see",
      );
    },
  );

  test("files that the configuration names → checked too, at their lines", async () => {
    await using scene = await closedScene();
    const { robot } = scene;
    using authority = createAuthority();
    const path = robot.path("authority.pem");
    await copyFile(authority.ca_file, path);
    await chmod(path, 0o600);
    await replaceIn(robot.config_path, "service:\n", `service:\n  ca_file: ${path}\n`);
    await chmod(robot.path("closed"), 0o755);
    await chmod(robot.path("closed/arm.json"), 0o644);
    const { stdout } = await robot.run(["check", "--json"]);
    const { findings } = JSON.parse(stdout) as Checked;
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ id: "file_unreadable", line: 2 });
    expect(findings[0]?.message).toContain(`Cannot read ${path}: nobody may not read`);
  });

  test("--config with a relative path → the same result", async () => {
    await using scene = await closedScene();
    const { robot } = scene;
    await chmod(robot.path("closed"), 0o711);
    await chmod(robot.path("closed/arm.json"), 0o644);
    const { code, stderr } = await robot.run(["check", "--config", relative(process.cwd(), robot.config_path)]);
    expect([code, stderr]).toEqual([0, ""]);
  });

  test("all files readable → valid for the agent's user", async () => {
    await using scene = await closedScene();
    await chmod(scene.robot.path("closed"), 0o711);
    await chmod(scene.robot.path("closed/arm.json"), 0o644);
    expect((await scene.robot.run(["check"])).code).toBe(0);
  });

  test.each([
    ["--setup", ["--setup"]],
    ["--setup --dry-run", ["--setup", "--dry-run"]],
  ])("%s by root, a file that the agent's user cannot read → not registered", async (_what, args) => {
    await using scene = await closedScene();
    const { code, stderr } = await scene.robot.run(args);
    expect(code).toBe(3);
    expect(stderr).toContain("nobody may not enter");
    expect(stderr).toContain(`sudo ${scene.robot.program} grant`);
    expect(scene.proxy.requests).toEqual([]);
  });

  test("run by another user → says so, and does not check the key", async () => {
    await using scene = await closedScene();
    const { robot } = scene;
    const ben = ["setpriv", "--reuid=41002", "--regid=41002", "--clear-groups"];
    const { stderr, code } = await robot.runProcess(["check"], {}, ben);
    expect(code).toBe(3);
    expect(stderr).toContain(`Checked as user 41002, who cannot read the key (${robot.keyPath}).`);
    expect(stderr).toContain(`sudo ${robot.program} check`);
    expect(stderr).not.toContain("chown");
  });

  test("scenario 17: a key that root may read, but not the agent's user → a finding", async () => {
    await using scene = await closedScene();
    await chown(scene.robot.keyPath, 0, 0);
    const { stdout } = await scene.robot.run(["check", "--json"]);
    const { findings } = JSON.parse(stdout) as Checked;
    const key = findings.find(({ id }) => id === "key_unreadable");
    expect(key?.message).toContain(`chown nobody ${scene.robot.keyPath}`);
  });
});

describe("check: the certificates of a private authority", () => {
  test.each([
    ["absent", null, "ca_file_missing"],
    ["no certificates", "a: 1\n", "ca_file_not_pem"],
  ])("%s", async (_what, content, id) => {
    await using scene = await createScene();
    const { robot } = scene;
    const path = robot.path("authority.pem");
    if (content !== null) await writeFile(path, content);
    await replaceIn(robot.config_path, "service:\n", `service:\n  ca_file: ${path}\n`);
    const { code, stdout } = await robot.run(["check", "--json"]);
    const { findings } = JSON.parse(stdout) as Checked;
    expect([code, findings.map((finding) => [finding.id, finding.line])]).toEqual([3, [[id, 2]]]);
  });
});

describe("check: the key", () => {
  test.each([
    ["readable by others", async (path: string) => chmod(path, 0o644), "key_exposed", "error", 3],
    ["no key", async (path: string) => writeFile(path, "CANARY not a key"), "key_space", "error", 3],
    ["absent", async (path: string) => rm(path), "key_missing", "warning", 0],
  ])("%s", async (_what, spoil, id, severity, exitCode) => {
    await using scene = await createScene();
    await spoil(scene.robot.keyPath);
    const { code, stdout, stderr } = await scene.robot.run(["check", "--json"]);
    const { findings } = JSON.parse(stdout) as Checked;
    expect(findings.map((finding) => [finding.id, finding.severity, finding.line])).toEqual([[id, severity, 3]]);
    expect(code).toBe(exitCode);
    expect(stdout + stderr).not.toContain("CANARY");
    expect((await scene.robot.run(["check", "--strict"])).code).toBe(3);
    expect(scene.proxy.requests).toEqual([]);
  });
});
