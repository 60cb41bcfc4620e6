/** Unusable configuration files, and the digest of usable ones. */
import { execFile } from "node:child_process";
import { chmod, chown, mkdir, open, rename, rm, symlink, unlink, utimes } from "node:fs/promises";
import { createServer } from "node:net";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { NOBODY_ID, asNobody, canBecomeNobody, hasProgram, isRoot } from "../../../support/programs/programs.ts";
import type { Daemon } from "../../../support/robot/daemon.ts";
import { digestByTools } from "../../../support/robot/digest.ts";
import { manifestOf, type Robot, writeAtOnce } from "../../../support/robot/robot.ts";
import { times } from "../../../support/run/tier.ts";
import { createScene, expectOneRobot, type Scene } from "../../../support/service/scene.ts";

const run = promisify(execFile);
const LIMIT_BYTES = 1_000_000;

describe("scenario 27: a configuration file that is", { tags: "needs/program" }, () => {
  let scene: Scene;
  let daemon: Daemon;
  let path = "";
  const GOOD = "gain: 1\n";

  beforeAll(async () => {
    scene = await createScene({
      files: { "first.yaml": "a: 1\n", "calibration/arm.yaml": GOOD },
      // A folder without x permission cannot be watched, so the agent polls.
      watch: `{settle_ms: 150, poll_s: 1, resync_s: 3600, file_limit_bytes: ${LIMIT_BYTES}}`,
    });
    path = scene.robot.path("calibration/arm.yaml");
    // Root ignores permissions, so the daemon runs as another user where possible.
    if (canBecomeNobody) await giveToNobody(scene.robot);
    daemon = await scene.robot.startProcess({}, canBecomeNobody ? asNobody : []);
    await expectOneRobot(scene, daemon);
  });

  afterAll(async () => {
    await daemon?.[Symbol.asyncDispose]();
    await scene?.[Symbol.asyncDispose]();
  });

  const faults: readonly [string, string, RegExp, (() => Promise<unknown>) | null][] = [
    ["missing", "file_missing", /create it, or correct the path/, () => unlink(path)],
    [
      "in a missing folder",
      "file_missing",
      /create it, or correct/,
      () => rm(scene.robot.path("calibration"), { recursive: true }),
    ],
    [
      "below a regular file",
      "file_missing",
      /a part of its path is not a directory/,
      async () => {
        await rm(scene.robot.path("calibration"), { recursive: true });
        await writeAtOnce(scene.robot.path("calibration"), "");
      },
    ],
    [
      "unreadable",
      "file_unreadable",
      /permission denied.*grant --dry-run/,
      isRoot && !canBecomeNobody ? null : () => chmod(path, 0o000),
    ],
    [
      "in a folder without x permission",
      "file_unreadable",
      /permission denied/,
      isRoot && !canBecomeNobody ? null : () => chmod(scene.robot.path("calibration"), 0o000),
    ],
    [
      "a folder",
      "file_not_regular",
      /it is a folder/,
      async () => {
        await unlink(path);
        await mkdir(path);
      },
    ],
    [
      "a FIFO",
      "file_not_regular",
      /FIFO, socket or device/,
      hasProgram("mkfifo")
        ? async () => {
            await unlink(path);
            await run("mkfifo", [path]);
          }
        : null,
    ],
    [
      "a socket",
      "file_not_regular",
      /FIFO, socket or device/,
      async () => {
        await unlink(path);
        const server = createServer().listen(path);
        server.unref();
      },
    ],
    [
      "huge",
      "file_too_large",
      new RegExp(`10000000000000 bytes, the limit is ${LIMIT_BYTES}`),
      async () => {
        const file = await open(path, "w");
        // Sparse: it uses no disk space, and hashing it would take hours.
        await file.truncate(10_000_000_000_000);
        await file.close();
      },
    ],
    ["one byte too large", "file_too_large", /1000001 bytes/, () => writeAtOnce(path, "x".repeat(LIMIT_BYTES + 1))],
    [
      "a symbolic link to itself",
      "file_unreadable",
      /form a loop/,
      async () => {
        await unlink(path);
        await symlink("arm.yaml", path);
      },
    ],
    [
      "a cycle of two symbolic links",
      "file_unreadable",
      /form a loop/,
      async () => {
        await unlink(path);
        await symlink("other.yaml", path);
        await symlink("arm.yaml", scene.robot.path("calibration/other.yaml"));
      },
    ],
    [
      "a dangling link",
      "file_missing",
      /symbolic link to .*nowhere\.yaml, which does not exist/,
      async () => {
        await unlink(path);
        await symlink("nowhere.yaml", path);
      },
    ],
  ];

  test.for(faults)(
    "%s → a finding at its line of the manifest, the registration stays; restored → healthy, no request",
    async ([, id, message, spoil], { skip }) => {
      if (spoil === null) return skip("needs another user, or a program that is not here");
      const { proxy, robot } = scene;
      const { registration } = await daemon.status();
      const before = proxy.requests.length;
      await spoil();
      // Between two steps of `spoil` the agent may find the file missing.
      const status = await daemon.until(
        ({ state, findings: [finding] }) => state === "invalid" && finding?.id === id && message.test(finding.message),
      );
      expect(status).toMatchObject({
        healthy: false,
        registration,
        findings: [{ severity: "error", file: robot.manifestPath, line: 4, column: 5 }],
      });
      expect(status.summary).toContain(`${robot.manifestPath}:4:5: `);

      await restore();
      await daemon.until(({ state, healthy }) => state === "registered" && healthy);
      expect(proxy.requests).toHaveLength(before);
      await expectOneRobot(scene, daemon);
      return undefined;
    },
  );

  test("missing, then created with other content → registered again", async () => {
    const before = scene.proxy.requests.length;
    await unlink(path);
    await daemon.until(({ state }) => state === "invalid");
    await writeAtOnce(path, "gain: 2\n");
    await expectOneRobot(scene, daemon);
    expect(scene.proxy.requests).toHaveLength(before + 1);
    await restore();
    await expectOneRobot(scene, daemon);
  });

  async function restore(): Promise<void> {
    const folder = scene.robot.path("calibration");
    await chmod(folder, 0o755).catch(() => {});
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    await writeAtOnce(path, GOOD);
  }
});

/** Gives the daemon's user what the daemon writes. The configuration files stay root's, so that it cannot read them. */
async function giveToNobody(robot: Robot): Promise<void> {
  for (const path of [robot.folder, robot.runtime_directory, robot.state_directory, robot.keyPath])
    await chown(path, NOBODY_ID, NOBODY_ID);
}

test("scenario 27: several unusable files at start → a finding for each, and the daemon runs", async () => {
  await using scene = await createScene({ files: { "a.yaml": "a: 1\n", "b.yaml": "b: 1\n", "c.yaml": "c: 1\n" } });
  const { proxy, robot } = scene;
  await unlink(robot.path("a.yaml"));
  await unlink(robot.path("c.yaml"));
  await mkdir(robot.path("c.yaml"));
  await using daemon = await robot.start();
  const { findings } = await daemon.until(({ state }) => state === "invalid");
  expect(findings.map(({ id, line }) => [id, line])).toEqual([
    ["file_missing", 3],
    ["file_not_regular", 5],
  ]);
  const setup = await robot.run(["check"]);
  expect(setup.code).toBe(3);
  expect(proxy.requests).toHaveLength(0);

  await writeAtOnce(robot.path("a.yaml"), "a: 2\n");
  await rm(robot.path("c.yaml"), { recursive: true });
  await writeAtOnce(robot.path("c.yaml"), "c: 2\n");
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(1);
});

describe("scenario 20: the digest", () => {
  /** Names whose order, case folding and normalization depend on the locale. */
  const FILES = {
    "I.yaml": "i: 1\nj: 2\n",
    "ı.yaml": "i: 2\n",
    "İ.json": "{}",
    "z.yaml": "z: 1\n",
    "Ä.yaml": "ä: ß\n",
    "a.yaml": "",
  };
  const LOCALES = ["tr_TR.UTF-8", "C", "C.UTF-8", "de_DE.UTF-8", "ja_JP.EUC-JP"];

  async function digestOf(robot: Robot, locale?: Readonly<Record<string, string>>): Promise<string> {
    const args = ["digest", "--json"];
    const run = locale === undefined ? robot.run(args) : robot.runProcess(args, locale);
    const { code, stdout, stderr } = await run;
    expect([code, stderr]).toEqual([0, ""]);
    return (JSON.parse(stdout) as { digest: string }).digest;
  }

  test("equals that of coreutils in every locale and time zone", { tags: "needs/program" }, async () => {
    await using scene = await createScene({ files: FILES });
    const { robot } = scene;
    const expected = await digestByTools(...robot.paths);
    for (const LC_ALL of LOCALES.slice(0, times(2, LOCALES.length)))
      expect(await digestOf(robot, { LC_ALL, LANG: LC_ALL, TZ: "Asia/Kathmandu" })).toBe(expected);
  });

  test("does not depend on mtime, inode, mode or folder", async () => {
    await using scene = await createScene({ files: FILES });
    const { robot } = scene;
    const expected = await digestOf(robot);
    const moved: string[] = [];
    await mkdir(robot.path("moved"));
    for (const [index, path] of robot.paths.entries()) {
      await utimes(path, index, index * 1000);
      await chmod(path, 0o640);
      const to = robot.path(`moved/${index}`);
      await run("cp", [path, to]);
      moved.push(to);
    }
    expect(await digestOf(robot)).toBe(expected);
    await writeAtOnce(robot.manifestPath, manifestOf(moved));
    expect(await digestOf(robot)).toBe(expected);
  });

  test("depends on the order and on the boundaries of the files", async () => {
    await using scene = await createScene({ files: FILES });
    const { robot } = scene;
    const expected = await digestOf(robot);
    await writeAtOnce(robot.manifestPath, manifestOf(robot.paths.toReversed()));
    const reversed = await digestOf(robot);
    await writeAtOnce(robot.manifestPath, manifestOf(robot.paths));
    // The same concatenated bytes, with the boundary moved by one line.
    await writeAtOnce(robot.path("I.yaml"), "i: 1\n");
    await writeAtOnce(robot.path("ı.yaml"), "j: 2\ni: 2\n");
    const reframed = await digestOf(robot);
    expect(new Set([expected, reversed, reframed]).size).toBe(3);
    expect(reframed).toBe(await robot.digest());
  });

  test(
    "in the daemon: reordered files → registers again; changed labels of files → no request",
    { tags: "needs/program" },
    async () => {
      await using scene = await createScene({ files: { "a.yaml": "a: 1\n", "b.yaml": "b: 1\n" } });
      const { proxy, robot } = scene;
      await using daemon = await robot.startProcess({ LC_ALL: "tr_TR.UTF-8" });
      await expectOneRobot(scene, daemon);
      const labelled = robot.paths.map((path, index) => `\n  - {label: file ${index}, path: ${path}}`).join("");
      await writeAtOnce(
        robot.path("next"),
        `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files:${labelled}\n`,
      );
      const { runs } = (await daemon.status()).daemon ?? { runs: 0 };
      await rename(robot.path("next"), robot.manifestPath);
      await daemon.until(({ state, daemon: counts }) => state === "registered" && (counts?.runs ?? 0) > runs);
      // The edit causes one or two runs; after this check it is in force.
      await daemon.lookAgain();
      expect(proxy.requests).toHaveLength(1);

      await writeAtOnce(robot.manifestPath, manifestOf(robot.paths.toReversed()));
      await proxy.arrived(2);
      const seen = { ...robot, digest: () => digestOf(robot) };
      await expectOneRobot({ ...scene, robot: seen }, daemon);
      expect(proxy.requests).toHaveLength(2);
    },
  );
});
