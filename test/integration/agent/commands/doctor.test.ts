import { appendFile, chmod, chown, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";

import { describe, expect } from "vitest";

import {
  asNobody,
  canBecomeNobody,
  canLimitInotify,
  canMount,
  inShell,
  NOBODY_ID,
  withOwnLimits,
  withOwnMounts,
} from "../../../support/programs/programs.ts";
import { replaceIn, type Robot } from "../../../support/robot/robot.ts";
import type { Fault } from "../../../support/service/fault-proxy.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene } from "../../../support/service/scene.ts";
import { type Check, diagnose, KEY, NO_DAEMON } from "./diagnose.ts";

describe("doctor", () => {
  test("scenario 33: a line for each check, causes before effects, with its remedy below", async ({ robot, proxy }) => {
    const { stdout, stderr, code } = await robot.run(["doctor"]);
    const port = new URL(proxy.url).port;
    const shown = stdout
      .replaceAll(robot.folder, "/robot")
      .replaceAll(port, "PORT")
      .replaceAll(/\d+ (?=MiB|ms)/g, "… ")
      .replaceAll(`by ${userInfo().username}`, "by the user")
      .replaceAll(/ unit {4,}.*/g, " unit           …");
    expect(shown).toMatchInlineSnapshot(`
      "ok    configuration  /robot/config.yaml
      ok    manifest       /robot/robot-manifest.yaml: yam.bimanual-joint-position.v1
      ok    files          2 of 2 can be read by the user
      ok    key            found in /robot/api-key, with a valid format
      ok    state          nothing is registered yet, /robot/state can be written, … MiB are free
      skip  unit           …
      warn  daemon         no agent answers at /robot/run/control.sock; changes are not noticed
                           → robot-policy-agent --config /robot/config.yaml --state-dir /robot/state --runtime-dir /robot/run run
      ok    dns            127.0.0.1 is an address, no name
      ok    tcp            127.0.0.1 port PORT accepts connections
      ok    proxy          none is used for this service
      skip  tls            not used: plain http that stays on this machine
      ok    service        answers in … ms, the clocks agree, accepts the key
      "
    `);
    expect([code, stderr]).toEqual([0, ""]);
  });

  test("doctor → no registration, two GETs, no change on the disk", async ({ robot, proxy }) => {
    const before = await readdir(robot.folder, { recursive: true });
    await diagnose(robot);
    expect(proxy.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /v1/robots",
      "GET /v1/regions",
    ]);
    expect(await readdir(robot.folder, { recursive: true })).toEqual(before);
  });

  test("doctor: its output goes to a full disk → says that, and ends", { tags: "needs/program" }, async ({ robot }) => {
    const { code, stderr } = await robot.runProcess(["doctor"], {}, ["sh", "-c", 'exec "$@" >/dev/full', "sh"]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: .*\[output-failed\]\n {2}→ .*\n$/)]);
  });

  test("doctor: several failures → the exit code of the first one to fix", async ({ robot, proxy }) => {
    await chmod(robot.keyPath, 0o644);
    await proxy.refuse();
    expect(await diagnose(robot)).toMatchObject({ code: 4, failed: ["key", "tcp"] });
    await writeFile(robot.manifestPath, "robot_type_id: 7\n");
    expect(await diagnose(robot)).toMatchObject({ code: 3, failed: ["manifest", "key", "tcp"] });
  });
});

describe("configuration, manifest, files", () => {
  test("configuration: unreadable → every check that depends on it is skipped", async ({ scene }) => {
    await writeFile(scene.robot.config_path, "service: {url: https://x}\n");
    const { code, failed, check, skipped } = await diagnose(scene.robot);
    expect({ code, failed }).toEqual({ code: 3, failed: ["configuration"] });
    expect(skipped).toEqual(["manifest", "files", "key", "dns", "tcp", "proxy", "tls", "service"]);
    expect(check("configuration")?.what).toBe(`${scene.robot.config_path}:1:1: robot is required`);
  });

  test("manifest: invalid → the network is still checked", async ({ scene }) => {
    await writeFile(scene.robot.manifestPath, "robot_type_id: 7\nconfiguration_file: []\n");
    const { code, failed, check, skipped } = await diagnose(scene.robot);
    expect({ code, failed, skipped }).toEqual({
      code: 3,
      failed: ["manifest"],
      skipped: ["files", "tls"],
    });
    expect(check("manifest")?.what).toMatch(/^.*:1:16: expected a text, found a number.* \(and 2 more\)$/);
  });

  test("manifest: a draft → a warning that it is not registered", async ({ scene }) => {
    await appendFile(scene.robot.manifestPath, "status: draft\n");
    expect((await diagnose(scene.robot)).check("manifest")).toMatchObject({
      status: "warn",
      remedy: "set status: ready",
    });
  });

  test("files: unusable ones → their number, and the problem of the first", async () => {
    await using scene = await createScene({ files: { a: "1", b: "2", c: "3" } });
    const { robot } = scene;
    await mkdir(robot.path("folder"));
    await writeFile(
      robot.manifestPath,
      (await readFile(robot.manifestPath, "utf8")).replace(robot.path("b"), robot.path("folder")),
    );
    const { code, check } = await diagnose(robot);
    expect([code, check("files")?.what.replace(robot.folder, "")]).toEqual([
      3,
      "1 of 3 cannot be used: Cannot hash /folder: it is a folder",
    ]);
    expect(check("files")?.remedy).toBe("list the files in it that matter, or all of them with /* at the end");
  });

  test("files: patterns → how many files each matched; one without → named", async () => {
    await using scene = await createScene({ files: { "a.stl": "1", "b.stl": "2" } });
    const { robot } = scene;
    const list = async (...paths: readonly string[]) => {
      const text = await readFile(robot.manifestPath, "utf8");
      const lines = paths.map((path) => `  - ${robot.path(path)}\n`).join("");
      await writeFile(robot.manifestPath, text.replace(/configuration_files:[^]*/, `configuration_files:\n${lines}`));
      return (await diagnose(robot)).check("files")?.what.replaceAll(robot.folder, "");
    };
    expect(await list("*.stl")).toMatch(/^2 of 2 can be read by .+, \/\*\.stl: 2$/);
    expect(await list("a.stl", "*.dae")).toBe("Cannot find /*.dae: no file has such a name");
  });

  /** A robot with one file in a folder that only root may enter. */
  async function closedScene() {
    const scene = await createScene({ files: { "open/a.yaml": "a: 1\n", "closed/b.yaml": "b: 1\n" } });
    await chmod(scene.robot.folder, 0o755);
    await chmod(scene.robot.path("closed"), 0o700);
    return scene;
  }

  test.skipIf(!canBecomeNobody).each([
    ["configuration", (robot: Robot) => robot.config_path],
    ["configuration", (robot: Robot) => robot.path("authority.pem")],
    ["manifest", (robot: Robot) => robot.manifestPath],
    ["files", (robot: Robot) => robot.path("left.yaml")],
  ])(
    "%s (needs root): a file that root can read, but not the agent's user → fails, with the command that fixes it",
    { tags: "needs/root" },
    async (id, which) => {
      await using scene = await createScene();
      const { robot } = scene;
      await writeFile(robot.path("authority.pem"), "");
      await replaceIn(robot.config_path, "  key_file:", `  ca_file: ${robot.path("authority.pem")}\n  key_file:`);
      await chmod(robot.folder, 0o755);
      for (const path of [robot.state_directory, robot.keyPath]) await chown(path, NOBODY_ID, NOBODY_ID);
      await chmod(which(robot), 0o600);
      const { code, failed, check } = await diagnose(robot);
      expect({ code, failed }).toEqual({ code: 3, failed: [id] });
      expect(check(id)).toMatchObject({
        what: expect.stringContaining(`nobody may not read ${which(robot)} (mode 0600, of user 0)`),
        remedy: expect.stringContaining("sudo robot-policy-agent grant"),
      });
    },
  );

  test.skipIf(!canBecomeNobody)(
    "run by another user (needs root) → says what it cannot check, without false failures",
    { tags: "needs/root" },
    async () => {
      await using scene = await closedScene();
      const { robot } = scene;
      await chmod(robot.state_directory, 0o700);
      const { code, failed, skipped, check } = await diagnose(robot, {}, asNobody);
      expect({ code, failed }).toEqual({ code: 0, failed: [] });
      expect(skipped).toEqual(["files", "key", "state", "tls"]);
      expect(check("configuration")).toMatchObject({ status: "warn", remedy: "sudo robot-policy-agent doctor" });
      // That command would take the key away from the agent.
      for (const { remedy } of [check("key"), check("files")].filter((each) => each !== undefined))
        expect(remedy).toBeNull();
    },
  );

  test.skipIf(!canBecomeNobody)(
    "scenario 17 (needs root): a key of another user → the chown for the agent's user",
    { tags: "needs/root" },
    async ({ robot }) => {
      await chown(robot.state_directory, NOBODY_ID, NOBODY_ID);
      const { check } = await diagnose(robot);
      expect(check("key")).toMatchObject({ status: "fail", remedy: `chown nobody ${robot.keyPath}` });
    },
  );
});

describe("key", () => {
  test("scenario 17: a key that others can read → the exact chmod", async ({ scene }) => {
    await chmod(scene.robot.keyPath, 0o644);
    const { code, check, skipped } = await diagnose(scene.robot);
    expect(code).toBe(5);
    expect(check("key")?.remedy).toBe(`chmod 600 ${scene.robot.keyPath}`);
    // What the service tells without a key.
    expect(check("service")?.status).toBe("ok");
    expect(skipped).toEqual(["tls"]);
  });

  test("service: a key that the service does not know → fails", async ({ scene }) => {
    await writeFile(scene.robot.keyPath, `${KEY}\n`);
    const { code, failed, check } = await diagnose(scene.robot);
    expect({ code, failed }).toEqual({ code: 5, failed: ["service"] });
    expect(check("service")).toMatchObject({
      what: `HTTP 401: Invalid API key (the API key in ${scene.robot.keyPath})`,
      remedy: expect.stringContaining(`in place of the one in ${scene.robot.keyPath}`),
    });
  });

  test("service: a registered robot whose key may not list robots → ok", async ({ robot, proxy }) => {
    const forbidden: Fault = { kind: "answer", status: 403, body: '{"detail":"not with this key"}' };
    proxy.inject(forbidden);
    expect(await diagnose(robot)).toMatchObject({ code: 5, failed: ["service"] });
    await robot.run(["--setup"]);
    proxy.inject(forbidden);
    expect(await diagnose(robot)).toMatchObject({ code: 0, warned: [NO_DAEMON, "service"] });
  });
});

describe("state, daemon", () => {
  test("state: damaged → a warning; the file is left for the agent to set aside", async ({ scene }) => {
    const path = join(scene.robot.state_directory, "registration.json");
    await writeFile(path, "half a ");
    expect(await diagnose(scene.robot)).toMatchObject({ code: 0, warned: ["state", NO_DAEMON] });
    expect(await readFile(path, "utf8")).toBe("half a ");
  });

  test("state: the name changed → fails", async ({ robot }) => {
    await robot.run(["--setup"]);
    await writeFile(robot.config_path, (await readFile(robot.config_path, "utf8")).replace("arm-7", "arm-8"));
    const { code, check } = await diagnose(robot);
    expect([code, check("state")?.what]).toEqual([7, "registered as arm-7, but robot.name is now arm-8"]);
  });

  test.skipIf(!canMount)(
    "scenario 13: state: an image cloned after setup → fails",
    { tags: "needs/root" },
    async ({ robot }) => {
      await robot.run(["--setup"]);
      await writeFile(robot.path("machine-id"), `${"ab".repeat(16)}\n`);
      const elsewhere = inShell(["unshare", "--mount"], `mount --bind ${robot.path("machine-id")} /etc/machine-id`);
      const { code, check } = await diagnose(robot, {}, elsewhere);
      expect(code).toBe(7);
      expect(check("state")).toMatchObject({
        what: expect.stringContaining("written on another machine, as arm-7"),
        remedy: expect.stringContaining("robot-policy-agent rebind"),
      });
    },
  );

  test.skipIf(!canMount).each([
    ["full", "size=16k", "the disk is full (ENOSPC)"],
    ["read-only", "ro", "is on a read-only filesystem"],
  ])("scenario 35: state, on a disk that is %s → reported", { tags: "needs/root" }, async (_case, option, what) => {
    await using scene = await createScene();
    const { robot } = scene;
    const mounted = inShell(["unshare", "--mount"], `mount -t tmpfs -o ${option} none ${robot.state_directory}`);
    const { code, failed, check } = await diagnose(robot, {}, mounted);
    expect({ code, failed }).toEqual({ code: 1, failed: ["state"] });
    expect(check("state")?.what).toContain(what);
  });

  test("state: the folder does not exist yet → not created", async ({ robot }) => {
    const { stdout } = await robot.run(["doctor", "--json", "--state-dir", robot.path("later/state")]);
    const { checks } = JSON.parse(stdout) as { checks: Check[] };
    expect(checks.find(({ id }) => id === "state")?.what).toBe("nothing is registered yet");
    expect(await readdir(robot.folder)).not.toContain("later");
  });

  test.skipIf(!canLimitInotify)(
    "scenario 25: all watches in use, so that the agent polls → reported",
    { tags: "needs/root" },
    async ({ scene }) => {
      const limited = inShell(withOwnLimits, "echo 0 >/proc/sys/user/max_inotify_watches");
      await using daemon = await scene.robot.startProcess({}, limited);
      await daemon.until(({ state, watching }) => state === "registered" && watching?.mode === "polling");
      const { code, warned, check } = await diagnose(scene.robot);
      expect({ code, warned }).toEqual({ code: 0, warned: [NO_DAEMON] });
      expect(check("daemon")?.what).toMatch(/but the agent polls: .* all inotify watches are in use/);
    },
  );

  test.skipIf(!canMount)(
    "state: the agent could not write, although this user can → reported",
    { tags: "needs/root" },
    async ({ robot }) => {
      const closed = inShell(withOwnMounts, `mount -t tmpfs -o ro none ${robot.state_directory}`);
      await using daemon = await robot.startProcess({}, closed);
      await daemon.until(({ state }) => state === "registered");
      const { code, failed, check } = await diagnose(robot);
      expect({ code, failed }).toEqual({ code: 1, failed: ["state"] });
      expect(check("state")).toMatchObject({
        what: expect.stringContaining(`${robot.state_directory} cannot be written (EROFS)`),
        remedy: expect.stringContaining(`ls -ld ${robot.state_directory}`),
      });
    },
  );

  test("daemon: running → its own status", async ({ robot, proxy }) => {
    proxy.inject({ kind: "answer", status: 422, body: '{"detail":[{"loc":["body","region"],"msg":"no","type":"x"}]}' });
    await using daemon = await robot.start();
    await daemon.until(({ state }) => state === "rejected");
    const rejected = await diagnose(robot);
    expect({ code: rejected.code, failed: rejected.failed }).toEqual({ code: 1, failed: ["daemon"] });
    expect(rejected.check("daemon")?.what).toContain("Registration refused by the service");
    await robot.run(["--setup"]);
    const { code, check, warned } = await diagnose(robot);
    expect({ code, warned }).toEqual({ code: 0, warned: [] });
    expect(check("daemon")).toMatchObject({ status: "ok", what: "Registered as arm-7" });
  });
});
