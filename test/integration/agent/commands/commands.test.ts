import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { chmod, mkdir, mkdtempDisposable, readFile, rm, truncate } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect } from "vitest";

import { agentProgram } from "../../../../src/cli/agent-program.ts";
import { agentWords, startCommand, startWords, wordsOnTerminal } from "../../../support/programs/command.ts";
import { AGENT_PROGRAM } from "../../../support/programs/programs-built.ts";
import { asNobody, canBecomeNobody, hasProgram, isRoot } from "../../../support/programs/programs.ts";
import { stateOfNewerAgent } from "../../../support/robot/newer-state.ts";
import { type CommandResult, type Robot, runAgent, setupBodies, writeAtOnce } from "../../../support/robot/robot.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { times } from "../../../support/run/tier.ts";
import { test } from "../../../support/service/scene-test.ts";
import {
  createScene,
  createSceneWithRegions,
  type Scene,
  sentDigests,
  storedRobots,
} from "../../../support/service/scene.ts";
import { forgetRobots } from "../../../support/service/service.ts";

/** The output and exit code, without what differs between runs. */
function shownBy({ code, stdout, stderr }: CommandResult, { robot, proxy }: Pick<Scene, "robot" | "proxy">): string {
  const text = `${stdout}${stderr === "" ? "" : `--- stderr\n${stderr}`}--- exit ${code}\n`;
  return text
    .replaceAll(robot.folder, "/robot")
    .replaceAll(proxy.url, "http://service")
    .replaceAll(/rob_[0-9a-z]{26}/g, "rob_…")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/(?<=sha256:[0-9a-f]{6})[0-9a-f]{58}|(?<=\b[0-9a-f]{6})[0-9a-f]{58}\b/g, "…")
    .replaceAll(/SHA256 +/g, "SHA256  ");
}

async function showOn(scene: Scene, args: readonly string[]): Promise<string> {
  return shownBy(await scene.robot.run(args), scene);
}

/** Every entry below a folder, with size, mtime, inode and mode. */
function treeOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((name) => {
      const { size, mtimeNs, ino, mode } = statSync(join(folder, name), { bigint: true });
      return `${name} ${size} ${mtimeNs} ${ino} ${mode}`;
    });
}

describe("a valid configuration", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await createScene();
  });
  afterAll(() => scene[Symbol.asyncDispose]());
  const show = (...args: string[]) => showOn(scene, args);

  test("check → what would be registered", async () => {
    expect(await show("check")).toMatchInlineSnapshot(`
      "ok arm-7: sha256:dffadf…
      --- exit 0
      "
    `);
    expect(JSON.parse((await scene.robot.run(["check", "--json"])).stdout)).toEqual({
      valid: true,
      findings: [],
      request: {
        name: "arm-7",
        robot_type_id: "yam.bimanual-joint-position.v1",
        region: "eu-central-1",
        site: "hall-2",
        labels: { line: "a" },
        configuration_digest: await scene.robot.digest(),
      },
      checked_as: { user_id: process.getuid?.(), is_agent: true },
    });
  });

  test("digest → the same as coreutils, as a line, as JSON and explained", async () => {
    const { robot } = scene;
    const digest = await robot.digest();
    expect((await robot.run(["digest"])).stdout).toBe(`${digest}\n`);
    const [left = "", right = ""] = robot.paths;
    const sums = [left, right].map((path) => createHash("sha256").update(readFileSync(path)).digest("hex"));
    expect(JSON.parse((await robot.run(["digest", "--json"])).stdout)).toEqual({
      digest,
      files: [
        { label: left, path: left, sha256: sums[0], bytes: 10 },
        { label: right, path: right, sha256: sums[1], bytes: 14 },
      ],
    });
    const explained = await robot.run(["digest", "--explain"]);
    expect(shownBy(explained, scene)).toMatchInlineSnapshot(`
      "The hashed text is one line per file, in the order of the manifest: the SHA-256 of the file's bytes and a line feed:

        272f97…  /robot/left.yaml (10 bytes)
        49ebb3…  /robot/right.json (14 bytes)

      Each line is the 64 digits and the line feed, without file names, times or modes.

      Its SHA-256 is the configuration digest: sha256:dffadf…

      The same with standard tools:
        sha256sum /robot/left.yaml /robot/right.json | cut -c1-64 | sha256sum
      --- exit 0
      "
    `);
    const command = explained.stdout.trimEnd().split("\n").at(-1) ?? "";
    expect(`sha256:${execFileSync("sh", ["-c", command], { encoding: "utf8" }).slice(0, 64)}`).toBe(digest);
  });

  test("contract: a type of the catalog → no contract is sent", async () => {
    expect(await show("contract")).toMatchInlineSnapshot(`
      "No contract is sent: yam.bimanual-joint-position.v1 registers by its id.
      --- exit 0
      "
    `);
    expect(JSON.parse((await scene.robot.run(["contract", "--json"])).stdout)).toEqual({
      findings: [],
      contract: null,
    });
  });

  test("--setup --dry-run → what would be sent", async () => {
    expect(await show("--setup", "--dry-run")).toMatchInlineSnapshot(`
      "Would send POST http://service/v1/robots/setup
      {
        "name": "arm-7",
        "robot_type_id": "yam.bimanual-joint-position.v1",
        "region": "eu-central-1",
        "configuration_digest": "sha256:dffadf…",
        "site": "hall-2",
        "labels": {
          "line": "a"
        }
      }
      SHA256  BYTES  FILE
      272f97…  10     /robot/left.yaml
      49ebb3…  14     /robot/right.json
      --- exit 0
      "
    `);
    const { would, method, url, request, files } = JSON.parse(
      (await scene.robot.run(["--setup", "--dry-run", "--json"])).stdout,
    );
    expect({ would, method, url, files: files.length }).toEqual({
      would: "register",
      method: "POST",
      url: `${scene.proxy.url}/v1/robots/setup`,
      files: 2,
    });
    expect(request.configuration_digest).toBe(await scene.robot.digest());
  });

  test("status: no daemon, before the first registration → exit 1", async () => {
    expect(await show("status")).toMatchInlineSnapshot(`
      "○ The agent is not running
      robot       arm-7
      type        yam.bimanual-joint-position.v1
      service     http://service
      registered  never
      on disk     sha256:dffadf…
      --- stderr
      error: the agent is not running; changes are not noticed [not-running]
        → start it: robot-policy-agent --config /robot/config.yaml --state-dir /robot/state --runtime-dir /robot/run run, or systemctl start robot-policy-agent where it is a service
      --- exit 1
      "
    `);
  });

  test("scenario 31: read-only commands → no request, no changed file", async () => {
    const { robot, proxy } = scene;
    const before = treeOf(robot.folder);
    const commands = [
      "check",
      "check --json",
      "digest",
      "contract",
      "status",
      "catalog",
      "schema manifest",
      "completion bash",
    ];
    for (const command of [...commands, "--setup --dry-run", "--setup --dry-run --if-changed"]) {
      await robot.run(command.split(" "));
      expect([command, treeOf(robot.folder)]).toEqual([command, before]);
    }
    expect(proxy.requests).toEqual([]);
  });

  test("reload: no daemon → exit 1", async () => {
    expect(await show("reload")).toMatchInlineSnapshot(`
      "--- stderr
      error: no agent answers (/robot/run/control.sock) [daemon-unreachable]
        → start it, or see why it does not answer: robot-policy-agent --config /robot/config.yaml --state-dir /robot/state --runtime-dir /robot/run status
      --- exit 1
      "
    `);
  });
});

test("--setup → registers; --if-changed → only asks the service", async ({ scene }) => {
  const show = (...args: string[]) => showOn(scene, args);
  const { proxy } = scene;
  expect(await show("--setup")).toMatchInlineSnapshot(`
    "Registered arm-7 as rob_… at http://service
    Configuration sha256:dffadf…
    --- exit 0
    "
  `);
  expect(proxy.requests.length).toBe(1);
  expect(await show("--setup", "--if-changed")).toMatchInlineSnapshot(`
    "Already registered: arm-7 as rob_… at http://service
    Configuration sha256:dffadf…
    --- exit 0
    "
  `);
  expect(await show("--setup", "--if-changed", "--dry-run")).toContain(
    "Would send nothing, unless the service lost it: POST",
  );
  expect(proxy.requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
  const unchanged = JSON.parse((await scene.robot.run(["--setup", "--if-changed", "--json"])).stdout);
  expect(unchanged).toMatchObject({ state: "registered", healthy: true, registered_now: false });
  const again = JSON.parse((await scene.robot.run(["--setup", "--json"])).stdout);
  expect(again).toMatchObject({ schema_version: 1, state: "registered", healthy: true, registered_now: true });
  expect(sentDigests(proxy)).toHaveLength(2);
  expect(await show("status")).toMatchInlineSnapshot(`
    "○ The agent is not running
    robot       arm-7 (rob_…)
    type        yam.bimanual-joint-position.v1
    service     http://service
    registered  <time>  sha256:dffadf…
    on disk     the same
    --- stderr
    error: the agent is not running; changes are not noticed [not-running]
      → start it: robot-policy-agent --config /robot/config.yaml --state-dir /robot/state --runtime-dir /robot/run run, or systemctl start robot-policy-agent where it is a service
    --- exit 1
    "
  `);
});

test("beside the daemon: status, reload and --setup → use it; a second daemon → refused", async ({ scene }) => {
  const show = (...args: string[]) => showOn(scene, args);
  const { robot } = scene;
  expect((await robot.run(["--setup"])).code).toBe(0);
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "registered");
  expect(await show("status")).toContain("confirmed   not since the agent started; next check <time>\n");
  await daemon.ask("POST", "/confirm");
  expect(await show("status")).toMatchInlineSnapshot(`
    "● Registered as arm-7
    robot       arm-7 (rob_…)
    type        yam.bimanual-joint-position.v1
    service     http://service
    registered  <time>  sha256:dffadf…
    confirmed   <time>
    on disk     the same
    watching    1 folder by events
    --- exit 0
    "
  `);
  expect(await show("reload")).toMatchInlineSnapshot(`
    "Reloaded
    --- exit 0
    "
  `);
  expect(await show("--setup")).toMatch(/^Registered arm-7 as rob_…/);
  expect((await daemon.status()).daemon?.attempts).toBe(1);
  // The daemon has just confirmed the registration, so it sends nothing.
  expect(await show("--setup", "--if-changed")).toMatch(/^Already registered: arm-7 as rob_…/);
  const unchanged = JSON.parse((await robot.run(["--setup", "--if-changed", "--json"])).stdout);
  expect(unchanged).toMatchObject({ state: "registered", registered_now: false });
  expect((await daemon.status()).daemon?.attempts).toBe(1);
  expect(shownBy(await robot.runProcess(["run"]), scene)).toMatchInlineSnapshot(`
    "--- stderr
    error: another agent uses this state directory (/robot/state) [already-running]
      → show its status: robot-policy-agent status
    --- exit 1
    "
  `);
});

test.skipIf(!canBecomeNobody)(
  "--setup by a member of the agent's group without access to the state → works through the daemon only",
  async () => {
    await using scene = await createScene();
    const { robot } = scene;
    const member = ["setpriv", "--reuid=65534", "--regid=0", "--clear-groups"];
    await chmod(robot.folder, 0o755);
    await using daemon = await robot.start();
    await daemon.until(({ state }) => state === "registered");
    const throughDaemon = await robot.runProcess(["--setup"], {}, member);
    expect([throughDaemon.code, throughDaemon.stderr]).toEqual([0, ""]);
    expect(throughDaemon.stdout).toMatch(/^Registered arm-7/);
    const rebound = await robot.runProcess(["rebind"], {}, member);
    expect([rebound.code, rebound.stderr]).toEqual([1, expect.stringContaining("[state-unusable]")]);
    const stranger = await robot.runProcess(["--setup"], {}, asNobody);
    expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining("[daemon-denied]")]);
    await daemon.stop();
    const alone = await robot.runProcess(["--setup"], {}, member);
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining("[state-unusable]")]);
  },
);

test("rebind → keeps the old registration aside; again → nothing to do", async ({ scene }) => {
  const show = (...args: string[]) => showOn(scene, args);
  expect((await scene.robot.run(["--setup"])).code).toBe(0);
  expect(await show("rebind")).toMatchInlineSnapshot(`
    "Unbound from arm-7 (kept as /robot/state/registration.json.rebound). The next start or --setup registers this machine.
    --- exit 0
    "
  `);
  expect(await show("rebind")).toMatchInlineSnapshot(`
    "Nothing to rebind: this machine has no registration.
    --- exit 0
    "
  `);
  expect(JSON.parse((await scene.robot.run(["rebind", "--json"])).stdout)).toEqual({
    rebound: false,
    kept: null,
    was: null,
    status: null,
  });
});

describe("the built program prints the same as its sources", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await createScene();
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  const COMMAND_LINES = [
    ["check", "--json"],
    ["doctor"],
    ["grant", "--dry-run"],
    ["contract", "--json"],
    ["catalog"],
    ["uninstall", "--dry-run", "--root", "/nonexistent"],
    ["--setup", "--dry-run"],
    // Only in the long tier: other tests also start the program for these.
    ["init"],
    ["digest", "--explain"],
    ["status"],
    ["reload"],
    ["rebind"],
    ["set-key", "--from", "/nonexistent"],
    ["schema", "manifest"],
    ["completion", "bash"],
  ];

  test.each(COMMAND_LINES.slice(0, times(7, COMMAND_LINES.length)))("%s", async (...args) => {
    const { robot } = scene;
    // The service's Date header has whole seconds, so a slow answer prints "within 2 s" instead of "within 1 s".
    const steady = (result: CommandResult) =>
      shownBy(result, scene).replaceAll(/\d+ (?=MiB|ms|s of the service)/g, "… ");
    expect(steady(await robot.runProcess(args))).toEqual(steady(await robot.run(args)));
  });
});

describe("--json on failure → one document on stdout:", () => {
  const INVALID = { check: 3, digest: 3, contract: 3, status: 3, "--setup": 3, "--setup --dry-run": 3, doctor: 3 };
  // These commands do not read the manifest.
  const NO_CONFIGURATION = { ...INVALID, enroll: 3, "set-key": 3 };
  const GRANT = isRoot ? { grant: 3 } : {};

  test.each([
    ["no configuration", (robot: Robot) => rm(robot.config_path), { ...NO_CONFIGURATION, ...GRANT }],
    [
      "a bad configuration",
      (robot: Robot) => writeAtOnce(robot.config_path, "service: {}\nrobot: {}\n"),
      { ...NO_CONFIGURATION, ...GRANT },
    ],
    // status first reports that the agent is not running.
    [
      "a bad manifest",
      (robot: Robot) => writeAtOnce(robot.manifestPath, "robot_type_id: 7\n"),
      { ...INVALID, ...GRANT, status: 1 },
    ],
    ["a missing file", (robot: Robot) => rm(robot.paths[0] ?? ""), { ...INVALID, status: 1, contract: 0 }],
  ])("%s", async (_case, damage, codes) => {
    await using scene = await createScene();
    const { robot } = scene;
    await damage(robot);
    for (const [command, expected] of Object.entries(codes)) {
      const { code, stdout } = await robot.run([...command.split(" "), "--json"]);
      expect([command, code]).toEqual([command, expected]);
      expect(typeof JSON.parse(stdout)).toBe("object");
    }
  });

  test("digest --json: a missing file → {digest: null, files: [], findings}", async ({ scene }) => {
    await rm(scene.robot.paths[0] ?? "");
    const { digest, files, findings } = JSON.parse((await scene.robot.run(["digest", "--json"])).stdout);
    expect({ digest, files, id: findings[0].id, line: findings[0].line }).toEqual({
      digest: null,
      files: [],
      id: "file_missing",
      line: 3,
    });
  });

  test("a state of a newer agent → state-newer", async ({ scene, robot }) => {
    await writeAtOnce(join(robot.state_directory, "registration.json"), stateOfNewerAgent(99));
    for (const command of ["status", "--setup", "rebind"]) {
      const { code, stdout } = await robot.run([command, "--json"]);
      expect([command, code, JSON.parse(stdout).problem?.code]).toEqual([command, 1, "state-newer"]);
    }
    expect(shownBy(await robot.run(["status"]), scene)).toMatchInlineSnapshot(`
      "--- stderr
      error: the state is of version 99, written by a newer agent (/robot/state/registration.json) [state-newer]
        → install that agent again; the state was not changed
      --- exit 1
      "
    `);
  });
});

describe("--setup --if-changed → checks with the service that it has the registration", () => {
  test.for(["alone", "through the running agent"])("%s", async (how) => {
    await using scene = await createScene();
    const { proxy, robot, service } = scene;
    await using daemon = how === "alone" ? null : await robot.start();
    if (daemon === null) expect((await robot.run(["--setup"])).code).toBe(0);
    else await daemon.until(({ state }) => state === "registered");
    const ask = async () => {
      const { code, stdout, stderr } = await robot.run(["--setup", "--if-changed"]);
      return { code, first: stdout.split(" ", 2).join(" "), problem: /\[([a-z-]+)\]/.exec(stderr)?.[1] ?? null };
    };
    expect(await ask()).toEqual({ code: 0, first: "Already registered:", problem: null });

    await forgetRobots(service);
    expect(await ask()).toEqual({ code: 0, first: "Registered arm-7", problem: null });
    expect(await service.robots()).toMatchObject([{ name: "arm-7" }]);

    // As another computer with the same name would.
    const [body] = setupBodies(proxy.requests);
    const configurationDigest = `sha256:${"0".repeat(64)}`;
    await service.send("POST", "/v1/robots/setup", { ...body, configuration_digest: configurationDigest });
    expect(await ask()).toEqual({ code: 0, first: "Registered arm-7", problem: null });
    expect(storedRobots(service)).toEqual([{ name: "arm-7", configuration_digest: await robot.digest() }]);

    proxy.inject({ kind: "answer", status: 503, body: "{}" }, Number.POSITIVE_INFINITY);
    expect(await ask()).toEqual({ code: 4, first: "Was registered:", problem: "not-confirmed" });
    proxy.clear();
    proxy.inject({ kind: "answer", status: 401, body: "{}" }, Number.POSITIVE_INFINITY);
    expect(await ask()).toEqual({ code: 5, first: "", problem: "unauthorized" });
  });
});

describe("exit codes", () => {
  test("3: invalid, with findings at their lines", async ({ scene }) => {
    await writeAtOnce(scene.robot.manifestPath, "robot_type_id: nonsense\nconfiguration_file: []\n");
    expect(shownBy(await scene.robot.run(["check"]), scene)).toMatchInlineSnapshot(`
      "--- stderr
      /robot/robot-manifest.yaml:1:1: warning no_config_files: no configuration files: the digest covers nothing
          robot_type_id: nonsense
          ^
      /robot/robot-manifest.yaml:1:16: error type_id_format: nonsense is not a type id such as acme.so101-cell.v1
          robot_type_id: nonsense
                         ^
      /robot/robot-manifest.yaml:2:1: error unknown_key: unknown key configuration_file; did you mean configuration_files?
          configuration_file: []
          ^
      --- exit 3
      "
    `);
  });

  test("3: an invalid configuration, and a manifest in another folder → findings of the configuration only", async ({
    robot,
  }) => {
    await writeAtOnce(robot.config_path, `manifest: ${robot.path("elsewhere.yaml")}\nservice: {}\nrobot: {}\n`);
    await rm(robot.manifestPath);
    const { code, stdout } = await robot.run(["check", "--json"]);
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly { readonly file: string }[] };
    expect([code, ...new Set(findings.map(({ file }) => file))]).toEqual([3, robot.config_path]);
  });

  test("3: a warning with check --strict", async () => {
    await using scene = await createScene({ files: {} });
    expect((await scene.robot.run(["check"])).code).toBe(0);
    expect((await scene.robot.run(["check", "--strict"])).code).toBe(3);
  });

  test.each([
    [4, "unreachable", { status: 503 }],
    [4, "a captive portal", { status: 200, headers: { "content-type": "text/html" }, body: "<html>log in</html>" }],
    [5, "unauthorized", { status: 401, body: '{"detail":"Invalid API key"}' }],
    [5, "forbidden", { status: 403, body: '{"detail":"no"}' }],
    [6, "rejected", { status: 422, body: '{"detail":[{"loc":["body","region"],"msg":"unknown region","type":"x"}]}' }],
    [6, "misconfigured", { status: 404, body: '{"detail":"Not Found"}' }],
    [7, "conflict", { status: 409, body: '{"detail":"taken"}' }],
  ])("%i: --setup, %s", async (code, _case, answer) => {
    await using scene = await createScene();
    scene.proxy.inject({ kind: "answer", ...answer });
    const result = await scene.robot.run(["--setup"]);
    expect(result.code).toBe(code);
    expect(result.stdout).toBe("");
    // The problem, then its remedy.
    expect(result.stderr).toMatch(/error: .+ \[[a-z-]+\]\n {2}→ .+\n/);
  });

  test("7: a reload changes the name of a registered robot", async ({ scene, robot }) => {
    await using daemon = await robot.start();
    await daemon.until(({ state }) => state === "registered");
    await writeAtOnce(robot.config_path, (await readFile(robot.config_path, "utf8")).replace("arm-7", "arm-8"));
    expect(shownBy(await robot.run(["reload"]), scene)).toMatchInlineSnapshot(`
      "Reloaded, but nothing is registered
      --- stderr
      error: this robot is registered as arm-7, but its name is now arm-8; nothing was sent [other-name]
        → set robot.name (or the hostname) back, or register a new robot: robot-policy-agent --config /robot/config.yaml --state-dir /robot/state --runtime-dir /robot/run rebind
      --- exit 7
      "
    `);
  });

  test("7: --setup after the name changed", async ({ scene, robot }) => {
    await robot.run(["--setup"]);
    await writeAtOnce(robot.config_path, (await readFile(robot.config_path, "utf8")).replace("arm-7", "arm-8"));
    expect(shownBy(await robot.run(["--setup"]), scene)).toMatchInlineSnapshot(`
      "--- stderr
      error: this robot is registered as arm-7, but its name is now arm-8; nothing was sent [other-name]
        → set robot.name (or the hostname) back, or register a new robot: robot-policy-agent --config /robot/config.yaml --state-dir /robot/state --runtime-dir /robot/run rebind
      --- exit 7
      "
    `);
  });
});

describe("usage", () => {
  const COMMANDS = agentProgram.commands.map(({ name }) => name).filter((name) => !name.startsWith("--"));

  test("--help → every command", async () => {
    for (const command of COMMANDS) expect((await runAgent(["--help"])).stdout).toContain(`\n  ${command} `);
    expect((await runAgent(["--help"])).stdout).toMatchInlineSnapshot(`
      "Usage: robot-policy-agent [options] [command]

      Keeps this robot registered with a robot policy service, and registers it again
      whenever its configuration files change.

      Options:
        -V, --version                 print the version
        --setup                       register now, once, and exit
        --dry-run                     with --setup: show the request; send and write
                                      nothing
        --if-changed                  with --setup: send nothing if the service has
                                      this registration already
        --json                        print one JSON document
        --config <file>               agent configuration (default:
                                      /etc/robot-policy-agent/config.yaml)
        --state-dir <dir>             where the registration is kept (default:
                                      /var/lib/robot-policy-agent)
        --runtime-dir <dir>           where the control socket is (default:
                                      /run/robot-policy-agent)
        -h, --help                    display help for command

      Commands:
        init [options]                write a commented configuration and manifest;
                                      asks for values that no flag gives, and tests
                                      the service
        run [options]                 watch the configuration files and keep the
                                      registration up to date, until stopped
        check [options]               check configuration, manifest and files, without
                                      network
        digest [options]              print the digest of the configuration files
        status [options]              show what is registered and whether it is up to
                                      date; the exit code tells the health
        reload [options]              make the running agent apply edited files now;
                                      fails if they are invalid
        rebind [options]              register this machine as a robot of its own,
                                      after its image was copied or its name changed
        doctor [options]              find out why this robot is not registered:
                                      checks files, network, key, clock and more
        set-key [options]             store the API key where the agent reads it and
                                      no other user can; asks for the key, or reads it
                                      from stdin
        enroll [options]              get this robot a credential of its own, which an
                                      operator approves by a code
        grant [options] [file]        let the agent's user read the robot's
                                      configuration files, with the least access that
                                      suffices
        contract [options] [file]     show the contract that is sent for a custom
                                      robot type
        catalog [options] [id]        list the robot types of the catalog, or show one
        schema [options] <document>   print the JSON Schema of a file, for editors
        install [options]             install this program as a service, on this
                                      machine or in an image, or upgrade it
        uninstall [options]           remove the installed program; configuration, key
                                      and registration stay without --purge
        completion [options] <shell>  print the completion script of a shell

      Examples:
        robot-policy-agent init                 write a commented configuration and manifest
        robot-policy-agent check                see what is wrong with them
        robot-policy-agent --setup              register this robot once
        robot-policy-agent status               see what the service holds
        robot-policy-agent doctor               find out why it does not work
      "
    `);
  });

  test.each(COMMANDS)("%s --help → a description and an example, within 80 columns", async (command) => {
    const { code, stdout } = await runAgent([command, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Examples:\n  ");
    expect(stdout).toContain("robot-policy-agent");
    for (const line of stdout.split("Examples:")[0]?.split("\n") ?? []) expect(line.length).toBeLessThanOrEqual(80);
  });

  test("wrong arguments → exit 2, with a suggestion on stderr", async () => {
    expect(await runAgent(["docter"])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "stderr": "error: unknown command 'docter'
      (Did you mean doctor?)
      (robot-policy-agent --help lists commands and flags)
      ",
        "stdout": "",
      }
    `);
    expect(await runAgent(["catalog", "yam.bimanual-joint-positon.v1"])).toMatchInlineSnapshot(`
      {
        "code": 2,
        "stderr": "error: there is no type yam.bimanual-joint-positon.v1 in the catalog [type-unknown]
        → did you mean yam.bimanual-joint-position.v1?
      ",
        "stdout": "",
      }
    `);
  });

  test("catalog → one type per line", async () => {
    expect((await runAgent(["catalog"])).stdout).toMatchInlineSnapshot(`
      "ID                              AXES   HZ  HOSTED  NAME
      lerobot.so101-follower.v1       6/6    30  yes     SO-101 follower arm (LeRobot)
      lerobot.bi-so101-follower.v1    12/12  30          Two SO-101 follower arms (LeRobot)
      lerobot.lekiwi.v1               9/9    30          LeKiwi mobile manipulator (LeRobot)
      trossen.aloha-bimanual.v1       14/14  50  yes     ALOHA stationary, two ViperX arms
      droid.franka-panda.v1           8/8    15  yes     Franka Panda with Robotiq 2F-85 (DROID)
      yam.bimanual-joint-position.v1  14/14  30  yes     Two YAM arms
      unitree.g1-dex3.v1              28/28  30          Unitree G1 upper body with Dex3-1 hands
      unitree.g1-dex1.v1              16/16  30          Unitree G1 upper body with Dex1-1 grippers
      bridge.widowx-250.v1            7/7    5           WidowX 250 with delta end-effector control (BridgeData V2)
      ur.ur5e-2f85.v1                 7/7    20          UR5e with Robotiq 2F-85
      "
    `);
    expect(JSON.parse((await runAgent(["catalog", "--json"])).stdout).types).toHaveLength(10);
  });

  test("catalog ID → one type in detail", async () => {
    expect((await runAgent(["catalog", "lerobot.so101-follower.v1"])).stdout).toMatchInlineSnapshot(`
      "lerobot.so101-follower.v1  SO-101 follower arm (LeRobot)
      hosted    yes: registers by its id alone
      topology  single_arm
      actions   joint_position, 30 Hz
      axes      6 state, 6 action
      cameras   declared by whoever installs the robot
      source    names, order, units: huggingface/lerobot robots/so_follower (use_degrees true); gripper 0 closed, 100 open and position limits: TheRobotStudio/SO-ARM100 Simulation/SO101; velocity: 0.7 of the servo's 4.5 rad/s

      #  ELEMENT            KIND     UNIT     LIMITS                  SPEED
      0  arm.shoulder_pan   arm      deg      -1.91986 … 1.91986 rad  3.15 rad/s
      1  arm.shoulder_lift  arm      deg      -1.74533 … 1.74533 rad  3.15 rad/s
      2  arm.elbow_flex     arm      deg      -1.69 … 1.69 rad        3.15 rad/s
      3  arm.wrist_flex     arm      deg      -1.65806 … 1.65806 rad  3.15 rad/s
      4  arm.wrist_roll     arm      deg      -2.79253 … 2.79253 rad  3.15 rad/s
      5  gripper.gripper    gripper  percent  closed 0, open 100
      "
    `);
    expect(JSON.parse((await runAgent(["catalog", "droid.franka-panda.v1", "--json"])).stdout)).toMatchObject({
      robot_type_id: "droid.franka-panda.v1",
      state_axes: 8,
      action_axes: 8,
    });
  });

  test.each(["manifest", "config"])("schema %s → a JSON Schema", async (document) => {
    const schema = JSON.parse((await runAgent(["schema", document])).stdout);
    expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
  });

  test.each(["bash", "zsh", "fish"])("completion %s → contains every command", async (shell) => {
    const { code, stdout } = await runAgent(["completion", shell]);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toContain(command);
  });

  test("completion bash → can be sourced as the help says", () => {
    const args = [process.execPath, AGENT_PROGRAM, "completion", "bash"];
    const script = 'source <("$@"); complete -p robot-policy-agent';
    expect(execFileSync("bash", ["-euc", script, "bash", ...args], { encoding: "utf8" })).toBe(
      "complete -F _robot_policy_agent robot-policy-agent\n",
    );
  });
});

/** A well-formed key that no service knows. */
const UNKNOWN_KEY = "sk_test_0123456789abcdefghijklm";

describe("init", () => {
  test("init: every answer as a flag → files that pass check", async ({ scene, robot, proxy }) => {
    await mkdir(robot.path("etc"));
    const [left = "", right = ""] = robot.paths;
    const answers = ["--url", proxy.url, "--region", "eu-central-1", "--type", "yam.bimanual-joint-position.v1"];
    const files = ["--key-file", robot.keyPath, "--name", "arm-{machine_id}", "--file", left, "--file", right];
    const init = await robot.run(["init", ...answers, ...files, "--dir", robot.path("etc")]);
    expect(shownBy(init, scene)).toMatchInlineSnapshot(`
      "Wrote /robot/etc/config.yaml
      Wrote /robot/etc/robot-manifest.yaml
      Next:
        1. robot-policy-agent check --config /robot/etc/config.yaml
        2. robot-policy-agent --setup --config /robot/etc/config.yaml
      --- stderr
      The service answers, and accepts the key.
      --- exit 0
      "
    `);
    expect(readdirSync(robot.path("etc")).toSorted()).toEqual(["config.yaml", "robot-manifest.yaml"]);
    const check = await runAgent(["check", "--config", robot.path("etc/config.yaml"), "--json"]);
    expect(JSON.parse(check.stdout)).toMatchObject({
      valid: true,
      findings: [],
      request: { configuration_digest: await robot.digest(), name: expect.stringMatching(/^arm-[0-9a-f]{12}$/) },
    });
  });

  test("init: on a robot → the next steps end with a running agent", async ({ scene }) => {
    const answers = ["--url", scene.proxy.url, "--region", "eu", "--type", "yam.bimanual-joint-position.v1"];
    const args = ["init", ...answers, "--file", "/opt/yam_left.yaml", "--no-test"];
    const { stdout } = await runAgent(args, { CONFIGURATION_DIRECTORY: scene.robot.path("etc") });
    expect(stdout.slice(stdout.indexOf("Next:"))).toMatchInlineSnapshot(`
      "Next:
        1. sudo robot-policy-agent check
        2. sudo robot-policy-agent enroll  # also registers the robot and starts the agent; with an API key instead: sudo robot-policy-agent set-key, then --setup, and systemctl start robot-policy-agent
      "
    `);
  });

  test("init: into an image → the next steps apply to the image, not to this computer", async ({ scene, robot }) => {
    const directory = robot.path("an image/etc/robot-policy-agent");
    const answers = "--url https://policy.example.com --region eu --type yam.bimanual-joint-position.v1".split(" ");
    const next = async (...more: string[]) => {
      const args = ["init", "--force", "--dir", directory, ...answers, "--file", "/opt/yam_left.yaml", ...more];
      const shown = shownBy(await robot.run(args), scene);
      return shown.slice(shown.indexOf("Next:"));
    };
    expect(await next()).toMatchInlineSnapshot(`
      "Next:
        1. sudo robot-policy-agent install --root '/robot/an image' --key-file FILE
        2. on a robot that runs this image: sudo robot-policy-agent status
      --- exit 0
      "
    `);
    expect(await readFile(join(directory, "config.yaml"), "utf8")).toContain(
      "\n  key_file: /etc/robot-policy-agent/api-key\n",
    );
    expect(await next("--key-file", "/boot/key")).toContain(
      "1. sudo chroot '/robot/an image' robot-policy-agent set-key",
    );
    await mkdir(robot.path("an image/usr/bin"), { recursive: true });
    await writeAtOnce(robot.path("an image/usr/bin/robot-policy-agent"), "of the package");
    expect(await next()).toContain("1. sudo chroot '/robot/an image' robot-policy-agent set-key");
    await writeAtOnce(join(directory, "api-key"), "sk_test_0123456789\n");
    expect(await next()).toMatchInlineSnapshot(`
      "Next:
        1. on a robot that runs this image: sudo robot-policy-agent status
      --- exit 0
      "
    `);
  });

  test("init: without answers → placeholders, which check reports", async ({ scene, robot }) => {
    const directory = robot.path("new/etc");
    expect(shownBy(await robot.run(["init", "--dir", directory]), scene)).toMatchInlineSnapshot(`
      "Wrote /robot/new/etc/config.yaml
      Wrote /robot/new/etc/robot-manifest.yaml
      Next:
        1. replace the 3 <…> in them
        2. list the configuration files in robot-manifest.yaml, and set status: ready
        3. robot-policy-agent enroll --config /robot/new/etc/config.yaml  # or, with an API key: robot-policy-agent set-key --config /robot/new/etc/config.yaml
        4. robot-policy-agent check --config /robot/new/etc/config.yaml
        5. robot-policy-agent --setup --config /robot/new/etc/config.yaml
      --- exit 0
      "
    `);
    const check = await runAgent(["check", "--config", join(directory, "config.yaml")]);
    expect(check.code).toBe(3);
    expect(check.stderr.replaceAll(robot.folder, "/robot")).toMatchInlineSnapshot(`
      "/robot/new/etc/config.yaml:7:8: error placeholder: replace the placeholder <address of the service, https://HOST>
            url: "<address of the service, https://HOST>"
                 ^
      /robot/new/etc/config.yaml:46:11: error placeholder: replace the placeholder <cloud region nearest to the robot>
            region: "<cloud region nearest to the robot>"
                    ^
      /robot/new/etc/robot-manifest.yaml:5:16: warning placeholder: replace the placeholder <id from: robot-policy-agent catalog>
          robot_type_id: "<id from: robot-policy-agent catalog>"
                         ^
      /robot/new/etc/robot-manifest.yaml:12:9: warning status_draft: draft: the robot will not be registered
          status: draft
                  ^
      /robot/new/etc/robot-manifest.yaml:16:22: warning no_config_files: no configuration files: the digest covers nothing
          configuration_files: []
                               ^
      "
    `);
  });

  test("init: a misspelt type id → a suggestion; the files are still written", async ({ robot }) => {
    const slip = ["init", "--type", "yam.bimanual-joint-positon.v1", "--dir", robot.path("etc")];
    const { code, stderr } = await robot.run(slip);
    expect([code, stderr]).toEqual([0, expect.stringContaining("did you mean yam.bimanual-joint-position.v1?")]);
  });

  test("init: an existing file → refused; --force → replaced", async ({ scene, robot }) => {
    const before = treeOf(robot.folder);
    expect(shownBy(await robot.run(["init"]), scene)).toMatchInlineSnapshot(`
      "--- stderr
      error: the file exists already (/robot/config.yaml) [exists]
        → to replace it: --force
      --- exit 1
      "
    `);
    expect(treeOf(robot.folder)).toEqual(before);
    expect((await robot.run(["init", "--force"])).code).toBe(0);
    expect(await readFile(robot.config_path, "utf8")).toContain("Written by robot-policy-agent init");
  });

  test.each([
    ["--url", "http://policy.example.com", "insecure"],
    ["--url", "https://policy.example.com/v1", "/v1"],
    ["--type", "not a type", "type id"],
    ["--file", "/a/*.yaml", "config"],
    ["--name", "{serial}", "placeholder"],
    ["--region", "\u0007", "region"],
    ["--region", "https://user:pw@x", "region"],
    ["--ca-file", "/etc/\u0007ca.pem", "ca"],
  ])("init: %s %j → refused, and nothing is written", async (flag, value) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "init-"));
    const result = await runAgent(["init", flag, value, "--dir", join(folder.path, "etc")]);
    expect([result.code, result.stdout]).toEqual([2, ""]);
    expect(result.stderr).toMatch(/error: --.+ \[bad-answer\]\n {2}→ correct the flag/);
    expect(result.stderr).toContain(`error: ${flag}: `);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("init: plain http to another machine → only with --allow-insecure", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "init-"));
    const args = ["init", "--url", "http://10.0.0.5:8080", "--no-test", "--dir", folder.path];
    const refused = await runAgent(args);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--allow-insecure")]);
    expect((await runAgent([...args, "--allow-insecure"])).code).toBe(0);
    expect(await readFile(join(folder.path, "config.yaml"), "utf8")).toContain("\n  allow_insecure: true\n");
  });

  test("init: a type without its maker or version → refused, and where the types are listed", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "init-"));
    const { code, stderr } = await runAgent(["init", "--type", "ur5e", "--dir", folder.path]);
    expect(code).toBe(2);
    expect(stderr).toContain("nothing was written; all types: robot-policy-agent catalog");
  });

  test("init --extend: a type that is not in the catalog → refused", async ({ robot }) => {
    const { code, stderr } = await robot.run(["init", "--type", "acme.arm.v1", "--extend", "--dir", robot.path("etc")]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--extend: the catalog has no type acme.arm.v1")]);
  });

  test("init: several wrong flags → all reported at once", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "init-"));
    const args = ["--url", "policy", "--region", "eu west", "--type", "no type", "--file", "/a/*.yaml"];
    const dir = join(folder.path, "etc/robot-policy-agent");
    const { code, stderr } = await runAgent(["init", ...args, "--enroll", "--dir", dir]);
    expect([code, readdirSync(folder.path)]).toEqual([2, []]);
    expect(stderr.match(/(?<=error: )--[a-z]+/g)).toEqual(["--url", "--region", "--type", "--file", "--enroll"]);
  });

  test.each([
    ["accepts the key", async () => {}, /^The service answers, and accepts the key\.$/m],
    ["does not know the key", putUnknownKey, /^warning: HTTP 401: .*\n {2}→ ask the operator of the service/m],
    ["answers, but there is no key", async (robot: Robot) => rm(robot.keyPath), /^The service answers\.$/m],
  ])("init: the service %s → says so; the files are still written", async (_name, prepare, message) => {
    await using scene = await createScene();
    await prepare(scene.robot);
    const { code, stderr } = await scene.robot.run([...allAnswers(scene.robot), "--url", scene.proxy.url]);
    expect(code).toBe(0);
    expect(stderr).toMatch(message);
    expect(readdirSync(scene.robot.path("etc")).toSorted()).toEqual(["config.yaml", "robot-manifest.yaml"]);
  });

  test("init: a region without an endpoint → a warning with the regions that have one", async () => {
    await using scene = await createSceneWithRegions(["eu-west-3", "us-west-2"]);
    const { code, stderr } = await scene.robot.run([...allAnswers(scene.robot), "--url", scene.proxy.url]);
    expect([code, stderr]).toEqual([
      0,
      `The service answers, and accepts the key.
warning: the service has no endpoint in the region eu
  → write one of these as robot.region: eu-west-3, us-west-2
`,
    ]);
  });

  test.skipIf(!hasProgram("script")).each([
    ["no key yet → after the key is typed", false],
    ["with a key → at once", true],
  ])("init on a terminal offers the service's regions: %s", async (_name, isKeyInPlace) => {
    await using scene = await createSceneWithRegions(["eu-west-3", "us-west-2"]);
    const { robot, service } = scene;
    const [file = ""] = robot.paths;
    const given = ["--type", "yam.bimanual-joint-position.v1", "--file", file, "--dir", robot.path("etc")];
    const key = isKeyInPlace ? ["--key-file", robot.keyPath] : [];
    await using command = startOnTerminal(robot, ["init", ...given, ...key]);
    await command.wrote("Address of the service");
    const type = (...lines: string[]) => command.child.stdin?.write(lines.map((each) => `${each}\n`).join(""));
    if (isKeyInPlace) {
      type(scene.proxy.url);
      await command.wrote("  2  us-west-2");
      type("2", "");
    } else {
      type(scene.proxy.url, "us-west-1", "");
      await command.wrote("API key (not shown");
      type(service.key);
      await command.wrote("Another region");
      type("2");
    }
    expect(await command.ended()).toBe(0);
    expect(await readFile(robot.path("etc/config.yaml"), "utf8")).toContain("\n  region: us-west-2\n");
  });

  test("init --no-test → no request", async ({ proxy, robot }) => {
    const { code, stderr } = await robot.run([...allAnswers(robot), "--url", proxy.url, "--no-test"]);
    expect([code, stderr, proxy.requests]).toEqual([0, "", []]);
  });

  test.skipIf(!canBecomeNobody)("init: a folder without write permission → not-writable", async ({ scene, robot }) => {
    const result = await robot.runProcess(["init", "--dir", "/etc/robot-policy-agent-of-a-test"], {}, asNobody);
    expect(shownBy(result, scene)).toMatchInlineSnapshot(`
      "--- stderr
      error: cannot write there (EACCES) (/etc/robot-policy-agent-of-a-test) [not-writable]
        → run it as root, or write elsewhere: --dir DIR
      --- exit 1
      "
    `);
  });

  test.skipIf(!canBecomeNobody || !hasProgram("script"))(
    "init on a terminal: a folder without write permission → not-writable before the first question",
    async () => {
      const line = `'${process.execPath}' '${AGENT_PROGRAM}' init --dir /etc/robot-policy-agent-of-a-test`;
      await using command = startWords([...asNobody, "script", "-qec", line, "/dev/null"], { TERM: "xterm" });
      expect(await command.ended()).toBe(1);
      expect(command.output()).toContain("cannot write there (EACCES) (/etc/robot-policy-agent-of-a-test)");
      expect(command.output()).not.toContain("Address of the service");
    },
  );

  test.skipIf(!hasProgram("script"))("init on a terminal: pasted lines → answers", async () => {
    await using scene = await createScene();
    const { robot } = scene;
    await using command = startOnTerminal(robot, ["init", "--dir", robot.path("etc")]);
    await command.wrote("Address of the service");
    const answers = ["policy.example.com", scene.proxy.url, "eu-west", "nonsense", "ur5e"];
    const files = ["/a/*.yaml", robot.paths[0], "/later/arm.yaml", "", "", ""];
    command.child.stdin?.write([...answers, ...files, ""].join("\n"));
    await command.wrote("API key (not shown");
    command.child.stdin?.write(`${UNKNOWN_KEY}\n`);
    await command.wrote("HTTP 401");
    // The terminal would echo a key typed before the prompt reappears.
    await expect.poll(() => command.output().split("API key (not shown")).toHaveLength(3);
    command.child.stdin?.write(`${scene.service.key}\n`);
    expect(await command.ended()).toBe(0);
    const output = command.output();
    expect(output).toContain("The file does not exist: /later/arm.yaml");
    expect(output).not.toContain(`The file does not exist: ${robot.paths[0]}`);
    expect(output).toContain("service address is not a web address; write it as https://HOST");
    expect(output).toContain("The service answers, and accepts the key.");
    expect(output).not.toMatch(/set-key --config|sk_/);
    expect(await readFile(robot.path("etc/api-key"), "utf8")).toBe(`${scene.service.key}\n`);
    const config = await readFile(robot.path("etc/config.yaml"), "utf8");
    expect(config).toContain(`\n  url: ${scene.proxy.url}\n`);
    expect(config).toContain("\n  region: eu-west\n");
    const manifest = await readFile(robot.path("etc/robot-manifest.yaml"), "utf8");
    expect(manifest).toContain("\nextends: ur.ur5e-2f85.v1\n");
    expect(manifest).toContain("\nstatus: ready\n");
    expect(manifest).toContain(`configuration_files:\n  - ${robot.paths[0]}\n  - /later/arm.yaml\n`);
  });
});

/** Starts a command on its own terminal (script(1)). */
function startOnTerminal(robot: Robot, args: readonly string[], environment: Record<string, string> = {}) {
  const line = agentWords(robot, args).map((word) => `'${word}'`);
  return startWords(["script", "-qec", line.join(" "), "/dev/null"], { TERM: "xterm", ...environment });
}

function allAnswers(robot: Robot): string[] {
  const [left = ""] = robot.paths;
  const type = ["--type", "yam.bimanual-joint-position.v1", "--file", left];
  return ["init", "--region", "eu", ...type, "--key-file", robot.keyPath, "--dir", robot.path("etc")];
}

function putUnknownKey(robot: Robot): Promise<void> {
  return writeAtOnce(robot.keyPath, `${UNKNOWN_KEY}\n`);
}

describe("interrupted → exit 130:", () => {
  /** Asserts that SIGINT ends the command at once with exit 130 and no error. What it waits for takes longer than the limit or ends otherwise. */
  async function expectInterruptible(command: ReturnType<typeof startWords>): Promise<void> {
    const startedAtMs = performance.now();
    command.child.kill("SIGINT");
    expect(await command.ended()).toBe(130);
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
    expect(command.output()).not.toMatch(/error|at .*\.ts:/);
  }

  test.each([[["--setup"]], [["doctor"]], [["enroll"]]])("%j while the service hangs", async (args) => {
    await using scene = await createScene();
    scene.proxy.inject({ kind: "hang" }, 2);
    await using command = startCommand(scene.robot, args);
    await scene.proxy.arrived(1);
    await expectInterruptible(command);
  });

  test("status --watch", async ({ scene }) => {
    await using command = startCommand(scene.robot, ["status", "--watch", "--json"]);
    await command.wrote('"stopped"');
    // One document per line, as scripts read them.
    expect(JSON.parse(command.output().split("\n")[0] ?? "")).toMatchObject({ schema_version: 1, state: "stopped" });
    await expectInterruptible(command);
  });

  test.each([[["reload"]], [["status"]]].slice(0, times(1, 2)))("%j while the daemon hangs", async (args) => {
    await using scene = await createScene();
    const server = createServer();
    server.listen(scene.robot.socket_path);
    const connected = once(server, "connection");
    await using command = startCommand(scene.robot, args);
    await connected;
    await expectInterruptible(command);
    server.close();
  });

  test.each([[["digest"]], [["check"]]].slice(0, times(1, 2)))("%j in the middle of a large file", async (args) => {
    await using scene = await createScene({ watch: "{settle_ms: 0, file_limit_bytes: 60000000000}" });
    const [path = ""] = scene.robot.paths;
    await truncate(path, 50_000_000_000);
    await using command = startCommand(scene.robot, args);
    const descriptors = `/proc/${command.child.pid}/fd`;
    await expect.poll(() => linksIn(descriptors), { interval: 20 }).toContain(path);
    await expectInterruptible(command);
  });

  test.skipIf(!hasProgram("script")).each([
    ["Ctrl-C", "\u0003"],
    ["Ctrl-D", "\u0004"],
  ])("init at a question, by %s; nothing is written", async (_name, key) => {
    await using scene = await createScene();
    const { robot } = scene;
    await using command = startOnTerminal(robot, ["init", "--dir", robot.path("etc")]);
    await command.wrote("Address of the service");
    command.child.stdin?.write(key);
    expect(await command.ended()).toBe(130);
    expect(command.output()).not.toMatch(/ERR_|at .*\.ts:/);
    expect(readdirSync(robot.folder)).not.toContain("etc");
  });
});

describe("output", () => {
  test.skipIf(!hasProgram("script"))("the terminal closes → status --watch ends", async ({ scene }) => {
    const exitCode = scene.robot.path("exit-code");
    const words = wordsOnTerminal(agentWords(scene.robot, ["status", "--watch"]), exitCode);
    await using terminal = startWords(words, { TERM: "xterm" });
    await terminal.wrote("on disk");
    terminal.child.kill("SIGKILL");
    await expect.poll(() => readFile(exitCode, "utf8").catch(() => ""), { timeout: PATIENCE_MS }).toBe("130\n");
  });

  test("the reader of a pipe ends → no error, and status --watch ends", async ({ scene }) => {
    const args = agentWords(scene.robot, ["status", "--watch"]).map((word) => `'${word}'`);
    await using watching = startWords(["sh", "-c", `${args.join(" ")} | true`]);
    // The first line is written at once; the next one, at the next change, has no reader.
    await expect
      .poll(
        async () => {
          await writeAtOnce(scene.robot.paths[0] ?? "", `offset: ${performance.now()}\n`);
          return watching.child.exitCode;
        },
        { interval: 200 },
      )
      .not.toBeNull();
    expect(watching.output()).not.toMatch(/EPIPE|at .*\.ts:/);
    const listed = execFileSync(
      "sh",
      ["-c", '"$@" 2>&1 | head -1', "sh", process.execPath, AGENT_PROGRAM, "schema", "manifest"],
      {
        encoding: "utf8",
      },
    );
    expect(listed).toBe("{\n");
  });

  test.skipIf(!hasProgram("script"))("on a terminal → colour and a progress bar; NO_COLOR → no colour", async () => {
    await using scene = await createScene({ watch: "{settle_ms: 0}" });
    // Several chunks: the bar appears after the first.
    await truncate(scene.robot.paths[0] ?? "", 2_000_000);
    const onTerminal = async (environment: Record<string, string>) => {
      await using command = startOnTerminal(scene.robot, ["check"], environment);
      expect(await command.ended()).toBe(0);
      return command.output();
    };
    const coloured = await onTerminal({});
    expect(coloured).toMatch(/hashing █*░* \d+ %/);
    expect(coloured).toContain("\u001B[32mok\u001B[39m");
    expect(await onTerminal({ NO_COLOR: "1" })).not.toContain("\u001B[32m");
    expect((await scene.robot.run(["check"])).stderr).not.toContain("hashing");
  });
});

function linksIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => readlinkSync(join(folder, name)));
  } catch {
    // The process or a descriptor does not exist, or no longer.
    return [];
  }
}
