import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { chmod, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect } from "vitest";

import { startCommand } from "../../../support/programs/command.ts";
import { asNobody, canBecomeNobody } from "../../../support/programs/programs.ts";
import { stateOfNewerAgent } from "../../../support/robot/newer-state.ts";
import { type CommandResult, type Robot, setupBodies, writeAtOnce } from "../../../support/robot/robot.ts";
import { times } from "../../../support/run/tier.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene, type Scene, sentDigests, storedRobots } from "../../../support/service/scene.ts";
import { forgetRobots } from "../../../support/service/service.ts";
import { showOn, shownBy, treeOf } from "./shown.ts";

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
      shared: [],
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
      "digest",
      "digest --explain",
      "contract",
      "status",
      "catalog",
      "devices",
      "schema manifest",
    ];
    const asJson = ["check --json", "digest --json", "status --json", "--setup --dry-run --json"];
    const others = ["completion bash", "--setup --dry-run", "--setup --dry-run --if-changed"];
    for (const command of [...commands, ...asJson, ...others]) {
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
    watching    2 folders by events
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
  expect(await show("run")).toMatchInlineSnapshot(`
    "--- stderr
    error: another agent uses this state directory (/robot/state) [already-running]
      → show its status: robot-policy-agent --config /robot/config.yaml --state-dir /robot/state --runtime-dir /robot/run status
    --- exit 1
    "
  `);
});

test("run with flags → its log names commands with these flags, too", { tags: "needs/program" }, async ({ robot }) => {
  await rm(robot.keyPath);
  await using command = startCommand(robot, ["run"]);
  await command.wrote(`put a key there: sudo ${robot.program} set-key`);
});

test.skipIf(!canBecomeNobody)(
  "--setup by a member of the agent's group without access to the state → works through the daemon only",
  { tags: "needs/root" },
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

  test.each(COMMAND_LINES.slice(0, times(7, COMMAND_LINES.length)))(
    "%s",
    { tags: "needs/program" },
    async (...args) => {
      const { robot } = scene;
      // The service's Date header has whole seconds, so a slow answer prints "within 2 s" instead of "within 1 s".
      const steady = (result: CommandResult) =>
        shownBy(result, scene).replaceAll(/\d+ (?=MiB|ms|s of the service)/g, "… ");
      expect(steady(await robot.runProcess(args))).toEqual(steady(await robot.run(args)));
    },
  );
});

describe("--json on failure → one document on stdout:", () => {
  const INVALID = { check: 3, digest: 3, contract: 3, status: 3, "--setup": 3, "--setup --dry-run": 3, doctor: 3 };
  // These commands do not read the manifest.
  const NO_CONFIGURATION = { ...INVALID, enroll: 3, "set-key": 3 };

  test.each([
    ["no configuration", (robot: Robot) => rm(robot.config_path), NO_CONFIGURATION],
    [
      "a bad configuration",
      (robot: Robot) => writeAtOnce(robot.config_path, "service: {}\nrobot: {}\n"),
      NO_CONFIGURATION,
    ],
    // status first reports that the agent is not running.
    [
      "a bad manifest",
      (robot: Robot) => writeAtOnce(robot.manifestPath, "robot_type_id: 7\n"),
      { ...INVALID, status: 1 },
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

  test.for(["registration", "identity-key", "identity-enrolment", "identity-credential"])(
    "%s.json of a newer agent → each command refuses, and the file stays",
    async (name) => {
      await using scene = await createScene();
      const { robot } = scene;
      const path = join(robot.state_directory, `${name}.json`);
      await writeAtOnce(path, stateOfNewerAgent(99));
      for (const command of ["status", "--setup", "rebind", "enroll"]) {
        const { code, stdout } = await robot.run([command, "--json"]);
        expect([command, code, JSON.parse(stdout).problem?.code]).toEqual([command, 1, "state-newer"]);
      }
      for (const [command, code] of [
        ["run", 1],
        ["doctor", 1],
        ["check", 0],
        ["digest --explain", 0],
      ] as const) {
        const ran = await robot.run(command.split(" "));
        expect([command, ran.code]).toEqual([command, code]);
        if (code !== 0) expect(ran.stdout + ran.stderr).toContain("written by a newer agent");
      }
      expect(await readFile(path, "utf8")).toBe(stateOfNewerAgent(99));
      expect(await readdir(robot.state_directory)).not.toContain(`${name}.json.damaged`);
    },
  );

  test("a state of a newer agent, as text → the file and what to do", async ({ scene, robot }) => {
    await writeAtOnce(join(robot.state_directory, "registration.json"), stateOfNewerAgent(99));
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
});
