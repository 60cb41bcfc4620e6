import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";

import { canMount, hasProgram, inShell, withOwnMounts } from "../../../support/programs/programs.ts";
import { eventually, replaceIn, setupBodies } from "../../../support/robot/robot.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene, createSceneWithRegions } from "../../../support/service/scene.ts";
import { forgetRobots } from "../../../support/service/service.ts";
import { type Authority, createAuthority, type Validity } from "../../client/authority.ts";
import { serveDropped, serveHttp, serveHttps, serveProxy, serveRaw, serveTcp } from "../../client/servers.ts";
import { diagnose, type Diagnosis, KEY, robotFor } from "./diagnose.ts";

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

  test.skipIf(!canMount || !hasProgram("ip")).each([
    ["ENETUNREACH", "ip link set lo up", /^there is no route/],
    ["EHOSTUNREACH", "ip link set lo up && ip route add unreachable 192.0.2.7", /^no computer has this address/],
  ])("tcp: %s → what it usually means", { tags: "needs/root" }, async (code, network, remedy) => {
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

  describe("tls", { tags: "needs/program" }, () => {
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

    test("init: the service's authority is not trusted → says so; with --ca-file it is", async () => {
      await using server = await serveEmptyList("localhost", "now");
      await using robot = await robotFor(`https://localhost:${server.port}`, "");
      const args = ["init", "--url", `https://localhost:${server.port}`, "--region", "eu", "--key-file", robot.keyPath];
      const init = (...more: string[]) => robot.run([...args, "--force", "--dir", robot.path("etc"), ...more]);
      expect((await init()).stdout).toMatch(/^fail +tls +the certificate comes from Test Authority, /m);
      expect((await init("--ca-file", authority.ca_file)).stdout).toMatch(/^ok +tls +.*\n(.*\n)*?ok +authentication /m);
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

    test("tls: another authority in ca_file → names both, and asks for none", async () => {
      using other = createAuthority();
      await using server = await serveEmptyList("localhost", "now");
      await using robot = await robotFor(`https://localhost:${server.port}`, `  ca_file: ${other.ca_file}`);
      const { failed, check } = await diagnose(robot);
      expect(failed).toEqual(["tls"]);
      expect(check("tls")).toMatchObject({
        what: `the certificate comes from Test Authority, which is not among the authorities in ${other.ca_file}`,
        remedy: expect.stringMatching(/^put that authority's certificate \(PEM\) into this file/),
      });
      const { stderr } = await robot.run(["--setup"]);
      expect(stderr).toContain(`it is not among those in ${other.ca_file}`);
      expect(stderr).not.toContain("set service.ca_file");
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

  test(
    "proxy: differs between the running agent and the shell → the agent's is checked",
    { tags: "needs/program" },
    async () => {
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
    },
  );

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

  test.skipIf(!canMount)(
    "clock: the time service is asked before the service, which may take long",
    { tags: "needs/root" },
    async () => {
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
    },
  );
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
