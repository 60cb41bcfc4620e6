import { existsSync } from "node:fs";
import { appendFile, chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";

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
import { CHECK_IDS } from "../../../../src/agent/doctor/check.ts";
import {
  createRobot,
  eventually,
  replaceIn,
  type Robot,
  type RobotOptions,
  setupBodies,
} from "../../../support/robot/robot.ts";
import type { Fault } from "../../../support/service/fault-proxy.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene, createSceneWithRegions } from "../../../support/service/scene.ts";
import { forgetRobots } from "../../../support/service/service.ts";
import { type Authority, createAuthority, type Validity } from "../../client/authority.ts";
import { serveDropped, serveHttp, serveHttps, serveProxy, serveRaw, serveTcp } from "../../client/servers.ts";

const KEY = "sk_test_canary0123456789canary";

interface Check {
  readonly id: string;
  readonly status: "ok" | "warn" | "fail" | "skip";
  readonly what: string;
  readonly remedy: string | null;
  readonly duration_ms: number;
}

interface Diagnosis {
  readonly code: number | null;
  readonly healthy: boolean;
  readonly checks: readonly Check[];
  /** Ids of the checks with this status. */
  readonly failed: readonly string[];
  readonly warned: readonly string[];
  readonly skipped: readonly string[];
  check(id: string): Check | undefined;
}

/** Said by a check that a busy machine had no time for. */
const LATE = "not finished within";

async function diagnose(
  robot: Robot,
  environment: Readonly<Record<string, string>> = {},
  through: readonly string[] = [],
): Promise<Diagnosis> {
  const args = ["doctor", "--json"];
  const run = () =>
    through.length === 0 ? robot.run(args, environment) : robot.runProcess(args, environment, through);
  const runInTime = async () => {
    const ended = await run();
    return ended.stdout.includes(LATE) ? undefined : ended;
  };
  const { code, stdout, stderr } = await eventually(runInTime, "a diagnosis whose checks all had the time they need");
  expect(stdout + stderr).not.toContain(KEY);
  const {
    schema_version: schemaVersion,
    healthy,
    checks,
  } = JSON.parse(stdout) as {
    schema_version: number;
    healthy: boolean;
    checks: Check[];
  };
  expect([schemaVersion, healthy]).toEqual([1, code === 0]);
  for (const { status, remedy } of checks) expect(remedy !== null).toBe(status === "fail" || status === "warn");
  const those = (wanted: string) => checks.filter(({ status }) => status === wanted).map(({ id }) => id);
  return {
    code,
    healthy,
    checks,
    failed: those("fail"),
    warned: those("warn"),
    // These agents do not run under the unit; test/unit/agent/doctor/unit.test.ts tests its check.
    skipped: those("skip").filter((id) => id !== "unit"),
    check: (id) => checks.find((check) => check.id === id),
  };
}

/** A robot whose configuration names this service address. */
function robotFor(service_url: string, service = "", options: Partial<RobotOptions> = {}): Promise<Robot> {
  return createRobot({ service_url, key: KEY, ...(service === "" ? {} : { service }), ...options });
}

/** Most of these tests run no daemon, which is a warning. */
const NO_DAEMON = "daemon";

describe("doctor", () => {
  test("scenario 33: a check for each part, causes before effects", async ({ scene }) => {
    const { code, checks, warned, skipped } = await diagnose(scene.robot);
    expect(code).toBe(0);
    // The next test has their names and order.
    expect(checks.map(({ id }) => id)).toEqual(CHECK_IDS);
    expect({ warned, skipped }).toEqual({ warned: [NO_DAEMON], skipped: ["tls", "region", "registration"] });
  });

  test("doctor → a line for each check, with its remedy below", async ({ robot, proxy }) => {
    const { stdout, stderr, code } = await robot.run(["doctor"]);
    const port = new URL(proxy.url).port;
    const shown = stdout
      .replaceAll(robot.folder, "/robot")
      .replaceAll(port, "PORT")
      .replaceAll(/\d+ (?=MiB|ms|watches|instances)/g, "… ")
      .replaceAll(`${userInfo().username}, as`, "the user, as")
      .replaceAll(`by ${userInfo().username}`, "by the user")
      .replaceAll(/ unit {12}.*/g, " unit            …")
      .replaceAll(", and a time service keeps it so", "")
      .replaceAll(/within \d+ s/g, "within 1 s");
    expect(shown).toMatchInlineSnapshot(`
      "ok    configuration   /robot/config.yaml
      ok    manifest        /robot/robot-manifest.yaml: yam.bimanual-joint-position.v1
      ok    user            the user, as the agent
      ok    files           2 of 2 can be read by the user
      ok    key             found in /robot/api-key, with a valid format
      ok    identity        none: the robot uses an API key
      ok    state           nothing is registered yet
      ok    disk            /robot/state can be written; … MiB are free
      ok    inotify         1 folder can be watched (limits: … watches, … instances)
      skip  unit            …
      warn  daemon          no agent answers at /robot/run/control.sock; changes are not noticed
                            → robot-policy-agent run, with the same folders
      ok    dns             127.0.0.1 is an address, no name
      ok    tcp             127.0.0.1 port PORT accepts connections
      ok    proxy           none is used for this service
      skip  tls             not used: plain http that stays on this machine
      ok    service         answers in … ms
      ok    clock           within 1 s of the service's
      ok    authentication  the service accepts the key
      skip  region          the service has no endpoints yet
      skip  registration    nothing is registered yet
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

  test("doctor: its output goes to a full disk → says that, and ends", async ({ robot }) => {
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
    expect(skipped).toEqual([
      "manifest",
      "files",
      "key",
      "identity",
      "dns",
      "tcp",
      "proxy",
      "tls",
      "service",
      "clock",
      "authentication",
      "region",
      "registration",
    ]);
    expect(check("configuration")?.what).toBe(`${scene.robot.config_path}:1:1: robot is required`);
  });

  test("manifest: invalid → the network is still checked", async ({ scene }) => {
    await writeFile(scene.robot.manifestPath, "robot_type_id: 7\nconfiguration_file: []\n");
    const { code, failed, check, skipped } = await diagnose(scene.robot);
    expect({ code, failed, skipped }).toEqual({
      code: 3,
      failed: ["manifest"],
      skipped: ["files", "tls", "region", "registration"],
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
      "1 of 3 cannot be used: Cannot hash /folder: it is a directory",
    ]);
    expect(check("files")?.remedy).toBe("list the files in it that matter, one by one");
  });

  /** A robot with one file in a folder that only root may enter. */
  async function closedScene() {
    const scene = await createScene({ files: { "open/a.yaml": "a: 1\n", "closed/b.yaml": "b: 1\n" } });
    await chmod(scene.robot.folder, 0o755);
    await chmod(scene.robot.path("closed"), 0o700);
    return scene;
  }

  test.skipIf(!canBecomeNobody).each([
    ["run as that user", asNobody],
    ["run as root, for that user", []],
  ])("files, user (needs root): a folder closed to the agent's user → named: %s", async (_who, through) => {
    await using scene = await closedScene();
    const { robot } = scene;
    await chown(robot.state_directory, NOBODY_ID, NOBODY_ID);
    await chown(robot.keyPath, NOBODY_ID, NOBODY_ID);
    const { code, failed, check } = await diagnose(robot, {}, through);
    expect({ code, failed }).toEqual({ code: 3, failed: ["files"] });
    expect(check("files")).toMatchObject({
      what: expect.stringContaining(
        `1 of 2 cannot be used: Cannot read ${robot.path("closed/b.yaml")}: nobody may not enter ${robot.path("closed")} (mode 0700, of user 0)`,
      ),
      remedy: expect.stringContaining("robot-policy-agent grant"),
    });
    expect(check("user")?.status).toBe("ok");
  });

  test.skipIf(!canBecomeNobody).each([
    ["configuration", (robot: Robot) => robot.config_path],
    ["configuration", (robot: Robot) => robot.path("authority.pem")],
    ["manifest", (robot: Robot) => robot.manifestPath],
  ])(
    "%s (needs root): a file that root can read, but not the agent's user → fails, with the command that fixes it",
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
        remedy: expect.stringContaining(`sudo robot-policy-agent grant ${which(robot)} `),
      });
    },
  );

  test.skipIf(!canBecomeNobody)(
    "run by another user (needs root) → says what it cannot check, without false failures",
    async () => {
      await using scene = await closedScene();
      const { robot } = scene;
      await chmod(robot.state_directory, 0o700);
      const { code, failed, skipped, check } = await diagnose(robot, {}, asNobody);
      expect({ code, failed }).toEqual({ code: 0, failed: [] });
      expect(skipped).toEqual([
        "files",
        "key",
        "identity",
        "state",
        "disk",
        "inotify",
        "tls",
        "authentication",
        "region",
        "registration",
      ]);
      expect(check("user")).toMatchObject({ status: "warn", remedy: "sudo robot-policy-agent doctor" });
      // That command would take the key away from the agent.
      for (const { remedy } of [check("key"), check("files")].filter((each) => each !== undefined))
        expect(remedy).toBeNull();
    },
  );

  test.skipIf(!canBecomeNobody)(
    "scenario 17 (needs root): a key of another user → the chown for the agent's user",
    async ({ robot }) => {
      await chown(robot.state_directory, NOBODY_ID, NOBODY_ID);
      const { check } = await diagnose(robot);
      expect(check("key")).toMatchObject({ status: "fail", remedy: `chown nobody ${robot.keyPath}` });
    },
  );
});

describe("key and authentication", () => {
  test("scenario 17: a key that others can read → the exact chmod", async ({ scene }) => {
    await chmod(scene.robot.keyPath, 0o644);
    const { code, check, skipped } = await diagnose(scene.robot);
    expect(code).toBe(5);
    expect(check("key")?.remedy).toBe(`chmod 600 ${scene.robot.keyPath}`);
    // The checks of service and clock need no key.
    expect(check("service")?.status).toBe("ok");
    expect(check("clock")?.status).toBe("ok");
    expect(skipped).toEqual(["tls", "authentication", "region", "registration"]);
  });

  test("authentication: a key that the service does not know → fails", async ({ scene }) => {
    await writeFile(scene.robot.keyPath, `${KEY}\n`);
    const { code, failed, check } = await diagnose(scene.robot);
    expect({ code, failed }).toEqual({ code: 5, failed: ["authentication"] });
    expect(check("authentication")?.what).toBe("HTTP 401: Invalid API key");
  });

  test("authentication: a registered robot whose key may not list robots → ok", async ({ robot, proxy }) => {
    const forbidden: Fault = { kind: "answer", status: 403, body: '{"detail":"not with this key"}' };
    proxy.inject(forbidden);
    expect(await diagnose(robot)).toMatchObject({ code: 5, failed: ["authentication"] });
    await robot.run(["--setup"]);
    proxy.inject(forbidden);
    expect(await diagnose(robot)).toMatchObject({ code: 0, warned: [NO_DAEMON, "authentication"] });
  });
});

describe("connection to the service", () => {
  const BEHIND = ["dns", "tcp", "tls", "service", "authentication", "region", "registration"];
  /** The checks that are skipped when this one fails. */
  const after = (id: string) => BEHIND.slice(BEHIND.indexOf(id) + 1);

  test("dns: a name without an address → fails", async () => {
    await using robot = await robotFor("https://policy.invalid", "  connect_timeout_s: 5");
    const { code, failed, skipped, check } = await diagnose(robot);
    expect({ code, failed }).toEqual({ code: 4, failed: ["dns"] });
    expect(skipped).toEqual(["tcp", "tls", "service", "clock", "authentication", "region", "registration"]);
    expect(check("dns")?.what).toContain("policy.invalid");
  });

  test("tcp: a closed port → fails", async ({ scene }) => {
    await scene.proxy.refuse();
    const { code, failed, check, skipped } = await diagnose(scene.robot);
    expect({ code, failed }).toEqual({ code: 4, failed: ["tcp"] });
    expect(skipped.filter((id) => id !== "clock")).toEqual(after("tcp"));
    expect(check("tcp")).toMatchObject({
      what: expect.stringMatching(/^cannot connect to 127\.0\.0\.1 port \d+ \(ECONNREFUSED\)$/),
      remedy: "nothing listens there: check the port in service.url, and that the service runs",
    });
  });

  test.skipIf(!canMount).each([
    ["ENETUNREACH", "ip link set lo up", /^there is no route/],
    ["EHOSTUNREACH", "ip link set lo up && ip route add unreachable 192.0.2.7", /^no computer has this address/],
  ])("tcp: %s → what it usually means", async (code, network, remedy) => {
    await using robot = await robotFor("https://192.0.2.7:8443", "  connect_timeout_s: 5");
    const { check } = await diagnose(robot, {}, inShell(["unshare", "--net"], network));
    expect(check("tcp")).toMatchObject({
      what: `cannot connect to 192.0.2.7 port 8443 (${code})`,
      remedy: expect.stringMatching(remedy),
    });
  });

  test("tcp: a firewall drops the packets → fails after the time limit", async () => {
    await using dropped = await serveDropped();
    await using robot = await robotFor(`http://127.0.0.1:${dropped.port}`, "  connect_timeout_s: 1");
    const { code, check } = await diagnose(robot);
    expect(code).toBe(4);
    expect(check("tcp")).toMatchObject({
      what: `127.0.0.1 port ${dropped.port} does not answer within 1 s`,
      remedy: expect.stringContaining("firewall"),
    });
    // The kernel would retry for two minutes.
    expect(check("tcp")?.duration_ms).toBeLessThan(20_000);
  });

  describe("tls", () => {
    let authority: Authority;
    beforeAll(() => {
      authority = createAuthority();
    });
    afterAll(() => authority[Symbol.dispose]());

    const serveEmptyList = (host: string, validity: Validity) =>
      serveHttps(authority.issue(host, validity), (_request, response) => {
        response.setHeader("content-type", "application/json");
        response.end("[]");
      });

    async function diagnoseTls(host: string, validity: Validity, service: string): Promise<Diagnosis> {
      await using server = await serveEmptyList(host, validity);
      await using robot = await robotFor(`https://localhost:${server.port}`, service);
      return await diagnose(robot);
    }
    const trusting = () => `  ca_file: ${authority.ca_file}`;

    test("tls: a private authority in ca_file → ok", async () => {
      const { code, check } = await diagnoseTls("localhost", "now", trusting());
      expect(code).toBe(0);
      expect(check("tls")).toMatchObject({
        status: "ok",
        what: "TLSv1.3, issued by Test Authority, valid until 2099-01-01",
      });
    });

    test("init: the service's authority is not trusted → says so at once, and suggests --ca-file", async () => {
      await using server = await serveEmptyList("localhost", "now");
      await using robot = await robotFor(`https://localhost:${server.port}`, "");
      const args = ["init", "--url", `https://localhost:${server.port}`, "--key-file", robot.keyPath];
      const init = (...more: string[]) => robot.run([...args, "--force", "--dir", robot.path("etc"), ...more]);
      expect((await init()).stderr).toMatch(
        /^warning: the certificate comes from Test Authority, .*\n {2}→ .* service\.ca_file; or have/,
      );
      expect((await init("--ca-file", authority.ca_file)).stderr).toBe("The service answers, and accepts the key.\n");
      expect(await readFile(robot.path("etc/config.yaml"), "utf8")).toContain(`\n  ca_file: ${authority.ca_file}\n`);
    });

    test("tls: a private authority that is not configured → fails", async () => {
      const { code, failed, check, skipped } = await diagnoseTls("localhost", "now", "");
      expect({ code, failed }).toEqual({ code: 4, failed: ["tls"] });
      expect(skipped).toEqual(["service", "clock", "authentication", "region", "registration"]);
      expect(check("tls")).toMatchObject({
        what: "the certificate comes from Test Authority, which this machine does not trust",
        // The server sends no chain, which may be the only problem.
        remedy: expect.stringMatching(/service\.ca_file; or have the service send its whole chain/),
      });
    });

    test.each([
      ["past", "2020-01-01 to 2020-02-01"],
      ["future", "2098-01-01 to 2099-01-01"],
    ] as const)(
      "scenario 3: tls: a certificate of the %s → its dates and the clock's date",
      async (validity, dates) => {
        const today = () => new Date().toISOString().slice(0, 10);
        const earliest = today();
        const { code, check } = await diagnoseTls("localhost", validity, trusting());
        expect(code).toBe(4);
        expect(check("tls")?.what).toBeOneOf(
          [earliest, today()].map(
            (day) => `the certificate is valid from ${dates}, and the clock of this machine says ${day}`,
          ),
        );
        expect(check("tls")?.remedy).toContain("if the clock is wrong, set it: timedatectl");
      },
    );

    test("tls: a certificate for another host → fails", async () => {
      const { check } = await diagnoseTls("other.test", "now", trusting());
      expect(check("tls")?.what).toBe("the certificate is for other.test, not for localhost");
    });

    test("scenario 11: tls: a wrong CA path → named", async () => {
      const { code, check } = await diagnoseTls("localhost", "now", "  ca_file: /nonexistent/ca.pem");
      expect([code, check("tls")?.what]).toEqual([4, "Cannot use CA file /nonexistent/ca.pem: it does not exist"]);
    });

    test("tls: a server that does not speak TLS → fails", async () => {
      await using server = await serveRaw("HTTP/1.1 400 Bad Request\r\n\r\n", "close");
      await using robot = await robotFor(`https://127.0.0.1:${server.port}`);
      expect(await diagnose(robot)).toMatchObject({ code: 4, failed: ["tls"] });
    });

    test("tls: no answer to the handshake, whose packets are the first large ones → names the MTU, too", async () => {
      await using server = await serveTcp(() => {});
      await using robot = await robotFor(`https://127.0.0.1:${server.port}`, "  connect_timeout_s: 1");
      const { failed, check } = await diagnose(robot);
      expect(failed).toEqual(["tls"]);
      expect(check("tls")?.remedy).toBe("something on the network path drops packets: check firewall, proxy and MTU");
    });

    test("proxy: from the environment or the configuration → used", async () => {
      await using server = await serveHttps(authority.issue("policy.test"), (_request, response) => response.end("[]"));
      await using proxy = await serveProxy(null);
      const url = `https://policy.test:${server.port}`;
      await using robot = await robotFor(url, trusting());
      const { code, check } = await diagnose(robot, { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
      expect(code).toBe(0);
      expect(check("proxy")?.what).toBe(`127.0.0.1:${proxy.port} lets us through to policy.test:${server.port}`);
      expect(check("dns")?.what).toBe("127.0.0.1 is an address, no name");
      // With NO_PROXY the name, which only the proxy resolves, is not found.
      const direct = await diagnose(robot, { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: "policy.test" });
      expect(direct.failed).toEqual(["dns"]);
    });

    test.each([
      [
        "of an authority that is not configured",
        "policy.test",
        "now",
        false,
        "the certificate comes from Test Authority, which this machine does not trust",
        "service.ca_file",
      ],
      [
        "of the past",
        "policy.test",
        "past",
        true,
        "the certificate is valid from 2020-01-01 to 2020-02-01",
        "timedatectl",
      ],
      [
        "for another host",
        "other.test",
        "now",
        true,
        "the certificate is for other.test, not for policy.test",
        "service.url",
      ],
    ] as const)(
      "tls: through a proxy, a certificate %s → as without one",
      async (_name, host, validity, isTrusting, what, remedy) => {
        await using server = await serveEmptyList(host, validity);
        await using proxy = await serveProxy(null);
        await using robot = await robotFor(`https://policy.test:${server.port}`, isTrusting ? trusting() : "");
        const { failed, check } = await diagnose(robot, { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
        expect(failed).toEqual(["tls"]);
        expect(check("tls")?.what).toContain(what);
        expect(check("tls")?.remedy).toContain(remedy);
      },
    );

    test("tls: a wrong CA path and a proxy, which is not asked → no claim about the proxy", async () => {
      await using proxy = await serveProxy(null);
      await using robot = await robotFor("https://policy.test", "  ca_file: /nonexistent/ca.pem");
      const { failed, skipped } = await diagnose(robot, { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
      expect(failed).toEqual(["tls"]);
      expect(skipped).toContain("proxy");
      expect(proxy.requests).toEqual([]);
    });

    test.each([
      ["of an authority that is not configured", "now", "service.ca_file"],
      ["of the past", "past", "timedatectl"],
    ] as const)("proxy: an https proxy with a certificate %s → fails", async (_name, validity, remedy) => {
      await using proxy = await serveProxy(null, authority.issue("localhost", validity));
      await using robot = await robotFor("https://policy.test", validity === "past" ? trusting() : "");
      const { failed, check } = await diagnose(robot, { HTTPS_PROXY: `https://localhost:${proxy.port}` });
      expect(failed).toEqual(["proxy"]);
      expect(check("proxy")?.remedy).toContain(remedy);
    });

    test("proxy: requires a password → fails, and the password is not shown", async () => {
      await using server = await serveHttps(authority.issue("policy.test"), (_request, response) => response.end("[]"));
      await using proxy = await serveProxy("Basic bm90OnRoaXM=");
      await using robot = await robotFor(`https://policy.test:${server.port}`, trusting());
      const environment = { HTTPS_PROXY: `http://me:canary-password@127.0.0.1:${proxy.port}` };
      const { code, failed, check, checks } = await diagnose(robot, environment);
      expect({ code, failed }).toEqual({ code: 4, failed: ["proxy"] });
      expect(check("proxy")?.what).toContain("requires a valid user name and password");
      expect(JSON.stringify(checks)).not.toContain("canary-password");
    });
  });

  test("proxy: differs between the running agent and the shell → the agent's is checked", async () => {
    await using scene = await createScene({ service: "  allow_insecure: true" });
    const { robot, proxy } = scene;
    const elsewhere = { HTTP_PROXY: "http://127.0.0.1:1" };
    await using daemon = await robot.startProcess();
    await daemon.until(({ state }) => state === "registered");
    const { code, warned, check } = await diagnose(robot, elsewhere);
    expect({ code, warned }).toEqual({ code: 0, warned: ["proxy"] });
    expect(check("proxy")?.remedy).toContain("service.proxy");
    await daemon.stop();

    await using misdirected = await robot.startProcess(elsewhere);
    await misdirected.until(({ state }) => state === "registered" || state === "unreachable");
    const agentsProxy = await diagnose(robot);
    expect({ code: agentsProxy.code, failed: agentsProxy.failed }).toEqual({ code: 4, failed: ["tcp"] });
    expect(agentsProxy.check("tcp")?.what).toContain("port 1 (ECONNREFUSED)");
    expect(agentsProxy.check("tcp")?.remedy).toContain("check the port in service.proxy, or HTTP_PROXY of the unit");
    expect(proxy.requests.filter(({ path }) => path.endsWith("/v1/robots"))).toHaveLength(1);
  });

  test("service: plain http through a proxy that requires a password → where to put it", async () => {
    await using proxy = await serveProxy("Basic bm90OnRoaXM=");
    const settings = `  allow_insecure: true\n  proxy: http://127.0.0.1:${proxy.port}`;
    await using robot = await robotFor("http://policy.test", settings);
    const { failed, check } = await diagnose(robot);
    expect(failed).toEqual(["service"]);
    expect(check("service")?.remedy).toContain("put user name and password into service.proxy");
  });

  test("proxy: an invalid address → fails", async () => {
    await using robot = await robotFor("https://policy.test");
    expect(await diagnose(robot, { HTTPS_PROXY: "socks5://127.0.0.1:1" })).toMatchObject({
      code: 4,
      failed: ["proxy"],
    });
  });
});

describe("service and clock", () => {
  test.each([
    [4, "a captive portal", { status: 200, headers: { "content-type": "text/html" }, body: "<html>" }, "a web page"],
    [
      4,
      "a redirect",
      { status: 302, headers: { location: "https://login.test/x?y" } },
      "redirects to https://login.test",
    ],
    [
      4,
      "a firewall",
      { status: 403, headers: { "content-type": "text/html" }, body: "<html>" },
      "HTTP 403 with a web page",
    ],
    [4, "a network that wants a login", { status: 511, body: "{}" }, "HTTP 511 with JSON that gives no reason"],
    [4, "an impatient gateway", { status: 408 }, "HTTP 408 with an empty body"],
    [4, "trouble", { status: 503, body: "{}" }, "HTTP 503 with JSON that gives no reason"],
    [1, "another program", { status: 404, body: '{"detail":"Not Found"}' }, "HTTP 404: Not Found"],
  ])("service: exit %i for %s", async (code, _case, answer, what) => {
    await using scene = await createScene();
    scene.proxy.inject({ kind: "answer", ...answer });
    const found = await diagnose(scene.robot);
    expect([found.code, found.failed]).toEqual([code, ["service"]]);
    expect(found.check("service")?.what).toContain(what);
    expect(found.check("authentication")?.status).toBe("skip");
  });

  test("service: no answer → fails after the time limit", async () => {
    await using scene = await createScene({ service: "  request_timeout_s: 1" });
    scene.proxy.inject({ kind: "hang" });
    expect(await diagnose(scene.robot)).toMatchObject({ code: 4, failed: ["service"] });
  });

  test.each([
    ["ok", 0, 0, /^within \d s of the service's/],
    ["warn", 10 * 60_000, 0, /^10 minutes behind the service's$/],
    ["warn", -10 * 60_000, 0, /^10 minutes ahead of the service's$/],
    ["fail", 26 * 3_600_000, 4, /^26 hours behind the service's$/],
    ["fail", 3 * 86_400_000, 4, /^3 days behind the service's$/],
  ])("clock: %s when the service's clock is %i ms ahead", async (status, offsetMs, code, what) => {
    await using server = await serveHttp((_request, response) => {
      response.setHeader("date", new Date(Date.now() + offsetMs).toUTCString());
      response.setHeader("content-type", "application/json");
      response.end("[]");
    });
    await using robot = await robotFor(`http://127.0.0.1:${server.port}`);
    const found = await diagnose(robot);
    expect(found.code).toBe(code);
    expect(found.check("clock")).toMatchObject({ status, what: expect.stringMatching(what) });
  });

  test.skipIf(!canMount)("clock: the time service is asked before the service, which may take long", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doctor-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const asked = join(folder, "asked");
    await using server = await serveHttp((_request, response) => {
      void eventually(async () => existsSync(asked) || undefined, "timedatectl to be asked").then(() =>
        response.setHeader("content-type", "application/json").end("[]"),
      );
    });
    await using robot = await robotFor(`http://127.0.0.1:${server.port}`);
    const program = join(folder, "timedatectl");
    await writeFile(program, `#!/bin/sh\n: >${asked}\necho NTPSynchronized=yes\n`, { mode: 0o755 });
    const replaced = inShell(withOwnMounts, `mount --bind ${program} "$(command -v timedatectl)"`);
    const { check } = await diagnose(robot, {}, replaced);
    expect(check("clock")?.what).toMatch(/a time service keeps it so$/);
  });
});

test.each([
  [
    ["eu-central-2", "us-west-2"],
    {
      status: "warn",
      what: "the service has no endpoint in the region eu-central-1 (did you mean eu-central-2?)",
      remedy: "write one of these as robot.region: eu-central-2, us-west-2",
    },
  ],
  [["eu-central-1", "us-west-2"], { status: "ok", what: "the service has an endpoint in eu-central-1" }],
])("region: the service has endpoints in %j", async (regions, expected) => {
  await using scene = await createSceneWithRegions(regions);
  const { code, check } = await diagnose(scene.robot);
  expect([code, check("region")]).toEqual([0, expect.objectContaining(expected)]);
});

test.each([
  ["a service that does not answer", "hang", { status: "skip", what: "the service does not tell its regions" }],
  ["a service without the operation", null, { status: "skip", what: "the service does not tell its regions" }],
  [
    "texts that are not regions",
    ["eu-central-2", "e\u001b[31m", `x${"y".repeat(5000)}`, KEY],
    { status: "warn", remedy: "write one of these as robot.region: eu-central-2" },
  ],
])("region: %s", async (_name, regions, expected) => {
  await using server = await serveHttp(({ url }, response) => {
    response.setHeader("content-type", "application/json");
    if (url !== "/v1/regions") response.end("[]");
    else if (regions === "hang") response.flushHeaders();
    else if (regions === null) response.writeHead(404).end('{"detail":"Not Found"}');
    else response.end(JSON.stringify({ regions }));
  });
  const limit = regions === "hang" ? "  request_timeout_s: 3" : "";
  await using robot = await robotFor(`http://127.0.0.1:${server.port}`, limit);
  const { code, check } = await diagnose(robot);
  expect([code, check("region")]).toEqual([0, expect.objectContaining(expected)]);
});

test("registration: replaced, contested or missing at the service → reported", async ({ robot, proxy, service }) => {
  await robot.run(["--setup"]);
  const checkRegistration = async () => {
    const { code, check } = await diagnose(robot);
    return { code, ...check("registration") };
  };
  expect(await checkRegistration()).toMatchObject({
    code: 0,
    status: "ok",
    what: "the service has the registration of arm-7",
  });

  const [body] = setupBodies(proxy.requests);
  const configurationDigest = `sha256:${"0".repeat(64)}`;
  await service.send("POST", "/v1/robots/setup", { ...body, configuration_digest: configurationDigest });
  expect(await checkRegistration()).toMatchObject({
    code: 7,
    status: "fail",
    what: expect.stringContaining("another registration replaced this robot's at 20"),
    remedy: expect.stringContaining("if two computers have the name arm-7, give one of them another"),
  });

  // The running agent restores the registration, and warns for a day.
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "registered");
  await daemon.ask("POST", "/confirm");
  const found = await diagnose(robot);
  expect(found.check("registration")).toMatchObject({ status: "ok" });
  expect(found.check("daemon")).toMatchObject({ status: "warn", what: expect.stringContaining("two computers") });
  await daemon.stop();

  for (const members of [
    { configuration_digest: configurationDigest },
    {},
    { configuration_digest: configurationDigest },
    {},
  ]) {
    await service.send("POST", "/v1/robots/setup", { ...body, ...members });
  }
  expect(await checkRegistration()).toMatchObject({
    code: 0,
    status: "warn",
    what: expect.stringContaining("take turns registering"),
  });

  await forgetRobots(service);
  expect(await checkRegistration()).toMatchObject({
    code: 0,
    status: "warn",
    what: expect.stringContaining("HTTP 404"),
  });
});

test("scenario 9: registration: the answer to the last request was lost → not taken for another computer's", async ({
  robot,
  proxy,
}) => {
  await robot.run(["--setup"]);
  await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 2");
  proxy.inject({ kind: "drop-after" });
  await robot.run(["--setup"]);
  const { code, check } = await diagnose(robot);
  expect([code, check("registration")]).toEqual([
    0,
    expect.objectContaining({
      status: "warn",
      what: expect.stringMatching(/^the service has a registration of 20.*, probably by this robot's last request/),
    }),
  ]);
});

test("scenario 35: registration: the agent could not save its last one → not compared with the one before", async ({
  robot,
}) => {
  await using daemon = await robot.start();
  await daemon.until(({ state }) => state === "registered");
  // In the way of the temporary file.
  await mkdir(join(robot.state_directory, "registration.json.new"));
  await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 2");
  await daemon.until(({ state, state_problem: problem }) => state === "registered" && problem !== null);
  const { code, check } = await diagnose(robot);
  expect([code, check("registration")]).toEqual([1, expect.objectContaining({ status: "skip", what: "needs disk" })]);
});

describe("state, disk, inotify, daemon", () => {
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

  test.skipIf(!canMount)("scenario 13: state: an image cloned after setup → fails", async ({ robot }) => {
    await robot.run(["--setup"]);
    await writeFile(robot.path("machine-id"), `${"ab".repeat(16)}\n`);
    const elsewhere = inShell(["unshare", "--mount"], `mount --bind ${robot.path("machine-id")} /etc/machine-id`);
    const { code, check } = await diagnose(robot, {}, elsewhere);
    expect(code).toBe(7);
    expect(check("state")).toMatchObject({
      what: expect.stringContaining("written on another machine, as arm-7"),
      remedy: expect.stringContaining("robot-policy-agent rebind"),
    });
  });

  test.skipIf(!canMount).each([
    ["full", "size=16k", "the disk is full (ENOSPC)"],
    ["read-only", "ro", "is on a read-only filesystem"],
  ])("scenario 35: disk: %s → reported", async (_case, option, what) => {
    await using scene = await createScene();
    const { robot } = scene;
    const mounted = inShell(["unshare", "--mount"], `mount -t tmpfs -o ${option} none ${robot.state_directory}`);
    const { code, failed, check } = await diagnose(robot, {}, mounted);
    expect({ code, failed }).toEqual({ code: 1, failed: ["disk"] });
    expect(check("disk")?.what).toContain(what);
  });

  test("disk: the state folder does not exist yet → not created", async ({ robot }) => {
    const { stdout } = await robot.run(["doctor", "--json", "--state-dir", robot.path("later/state")]);
    const { checks } = JSON.parse(stdout) as { checks: Check[] };
    expect(checks.find(({ id }) => id === "disk")?.what).toBe(
      `${robot.path("later/state")} does not exist yet and can be created`,
    );
    expect(await readdir(robot.folder)).not.toContain("later");
  });

  test.skipIf(!canLimitInotify)("scenario 25: inotify: all watches in use → the sysctl", async ({ scene }) => {
    const limited = inShell(["unshare", "--user", "--map-root-user"], "echo 0 >/proc/sys/user/max_inotify_watches");
    const { code, check } = await diagnose(scene.robot, {}, limited);
    expect(code).toBe(0);
    expect(check("inotify")).toMatchObject({
      status: "warn",
      what: expect.stringContaining("all inotify watches are in use"),
      remedy: "raise the limit: sysctl fs.inotify.max_user_watches=65536",
    });
  });

  test.skipIf(!canLimitInotify)(
    "inotify: the agent polls, although this user can watch → reported",
    async ({ scene }) => {
      const limited = inShell(withOwnLimits, "echo 0 >/proc/sys/user/max_inotify_watches");
      await using daemon = await scene.robot.startProcess({}, limited);
      await daemon.until(({ state, watching }) => state === "registered" && watching?.mode === "polling");
      const { code, warned, check } = await diagnose(scene.robot);
      expect({ code, warned }).toEqual({ code: 0, warned: ["inotify"] });
      expect(check("inotify")?.what).toMatch(/^the agent polls: .* all inotify watches are in use/);
    },
  );

  test.skipIf(!canMount)("disk: the agent could not write, although this user can → reported", async ({ robot }) => {
    const closed = inShell(withOwnMounts, `mount -t tmpfs -o ro none ${robot.state_directory}`);
    await using daemon = await robot.startProcess({}, closed);
    await daemon.until(({ state }) => state === "registered");
    const { code, failed, check } = await diagnose(robot);
    expect({ code, failed }).toEqual({ code: 1, failed: ["disk"] });
    expect(check("disk")).toMatchObject({
      what: expect.stringContaining(`${robot.state_directory} cannot be written (EROFS)`),
      remedy: expect.stringContaining(`ls -ld ${robot.state_directory}`),
    });
  });

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
