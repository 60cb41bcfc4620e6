/** @module-tag needs/root */
import { chmod, chown, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { AGENT_PROGRAM } from "../../support/programs/programs-built.ts";
import { asNobody, canMount, inShell, withOwnMounts } from "../../support/programs/programs.ts";
import { createScene, expectOneRobot } from "../../support/service/scene.ts";
import { AGENT_ID, ANN_ID, as, canGrant, file, folder, home, prepareHome, run, runGrant } from "./grant-home.ts";

beforeEach(prepareHome);

describe.skipIf(!canGrant || !canMount)("grant by the unit (needs root and mount namespaces)", () => {
  interface Surroundings {
    readonly files?: readonly string[];
    /** Shell commands before and after the program. */
    readonly before?: string;
    readonly after?: string;
  }

  /** Runs the built program. Its /etc/systemd and /var/lib are mounts of its own, which end with the process: `after` shows them. */
  async function runProgram(
    method: string,
    { files = [file], before = "true", after = "true" }: Surroundings = {},
  ): Promise<string> {
    await writeFile(join(folder, "api-key"), "sk_test_0123456789\n", { mode: 0o600 });
    await chown(join(folder, "api-key"), AGENT_ID, AGENT_ID);
    await writeFile(
      join(folder, "config.yaml"),
      `service: {url: "http://127.0.0.1:1", key_file: ${folder}/api-key}\nrobot: {name: a, region: b}\nmanifest: ${folder}/m.yaml\n`,
    );
    await writeFile(
      join(folder, "m.yaml"),
      `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files: [${files.join(", ")}]\n`,
    );
    const mounts = "mount -t tmpfs none /var/lib; mount -t tmpfs none /etc/systemd";
    const script = `${mounts}; ${before}; ${grantCommand()} --method ${method} 2>&1 || true; ${after}`;
    return run(...inShell(withOwnMounts, script, ["true"])).replaceAll(folder, "");
  }

  const grantCommand = () =>
    `${process.execPath} ${AGENT_PROGRAM} grant --config ${folder}/config.yaml --state-dir ${folder}/state`;

  /** Shell commands that show the grant, revoke it, and show what remains. */
  function showAndRevoke(): string {
    const showKey = `stat -c 'key of %U' ${folder}/api-key`;
    const show = `cat /etc/systemd/system/robot-policy-agent*.service.d/50-grant.conf | sort | uniq -c; ${showKey}`;
    const showRest = "ls -A /etc/systemd/system/*.d /var/lib/* 2>/dev/null || true";
    return `(${show}) 2>&1 || true; ${grantCommand()} --revoke; ${showKey}; ${showRest}`;
  }

  test("--method owner → writes a drop-in and changes the key's owner; --revoke undoes both", async () => {
    run("chown", "-R", "games:games", home);
    expect(await runProgram("owner", { after: showAndRevoke() })).toMatchInlineSnapshot(`
      "/etc/systemd/system/robot-policy-agent.service.d/50-grant.conf: a drop-in of the unit: User=games
      /etc/systemd/system/robot-policy-agent-look.service.d/50-grant.conf: a drop-in of the unit: User=games
      /etc/systemd/system/robot-policy-agent-setup.service.d/50-grant.conf: a drop-in of the unit: User=games
      /api-key: given to games
      the agent can then read whatever games can, and games can read the agent's key and state
      systemd gives the state folder to games at the next start
      games can read them now. To undo this: robot-policy-agent --config /config.yaml --state-dir /state grant --revoke
            3 # Written by: robot-policy-agent grant --method owner. Taken back by: robot-policy-agent grant --revoke
            3 User=games
            3 [Service]
      key of games
      revoked the grant on /etc/systemd/system/robot-policy-agent.service.d/50-grant.conf
      key of nobody
      /etc/systemd/system/robot-policy-agent-look.service.d:

      /etc/systemd/system/robot-policy-agent-setup.service.d:

      /etc/systemd/system/robot-policy-agent.service.d:

      /var/lib/robot-policy-agent-install:
      "
    `);
  });

  test("--method owner: systemd cannot apply it → reported, with the command to run", async () => {
    run("chown", "-R", "games:games", home);
    const before = `mount -t tmpfs none /run; mkdir -p /run/systemd/system; printf '#!/bin/sh\\nexit 1\\n' >/run/systemctl; chmod 755 /run/systemctl; PATH=/run:$PATH`;
    const output = await runProgram("owner", {
      before,
      after: `${grantCommand()} --revoke 2>&1 || echo "exit code $?"`,
    });
    expect(output.slice(output.indexOf("error:"))).toMatchInlineSnapshot(`
      "error: systemd did not apply it, so the agent may still run as its former user [restart-failed]
        → systemctl daemon-reload && systemctl restart robot-policy-agent
      revoked the grant on /etc/systemd/system/robot-policy-agent.service.d/50-grant.conf
      error: systemd did not apply it, so the agent may still have the access [restart-failed]
        → systemctl daemon-reload && systemctl restart robot-policy-agent
      exit code 1
      "
    `);
  });

  test("--method owner: a file of root → accepted if the owner can read it, otherwise refused", async () => {
    run("chown", "-R", "games:games", home);
    const limits = join(folder, "limits.yaml");
    await writeFile(limits, "limits: {}\n", { mode: 0o644 });
    expect(await runProgram("owner", { files: [file, limits] })).toContain("games can read them now.");
    await chmod(limits, 0o600);
    expect(await runProgram("owner", { files: [file, limits] })).not.toContain("games can read them now.");
  });
});

test.skipIf(!canGrant)(
  "grant: applied → agent watches by events and registers what the owner writes (needs root)",
  async () => {
    await using scene = await createScene({ files: { "ann/.cache/calibration/arm.json": "{}\n" } });
    const { robot } = scene;
    const [path = ""] = robot.paths;
    run("chown", "-R", `${ANN_ID}:${ANN_ID}`, robot.path("ann"));
    for (const each of [robot.state_directory, robot.runtime_directory, robot.keyPath])
      await chown(each, AGENT_ID, AGENT_ID);
    await chmod(robot.folder, 0o755);
    await chmod(robot.path("ann"), 0o750);
    await chmod(robot.path("ann/.cache/calibration"), 0o700);
    await chmod(path, 0o600);
    const { code } = await runGrant({}, [path]);
    expect(code).toBe(0);

    await using daemon = await robot.startProcess({}, asNobody);
    await daemon.until(({ state, watching }) => state === "registered" && watching?.mode === "events");
    as(ANN_ID, `umask 077; echo '{"a": 1}' >'${path}'`);
    const { watching } = await expectOneRobot(scene, daemon);
    expect(watching?.mode).toBe("events");
    expect(await readFile(path, "utf8")).toBe('{"a": 1}\n');
  },
);
