import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect } from "vitest";

import { canMount, hasProgram, inShell } from "../../../support/programs/programs.ts";
import { replaceIn, setupBodies } from "../../../support/robot/robot.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene, createSceneWithRegions } from "../../../support/service/scene.ts";
import { forgetRobots } from "../../../support/service/service.ts";
import { type Authority, createAuthority, type Validity } from "../../client/authority.ts";
import {
  type Listening,
  serveDropped,
  serveHttp,
  serveHttps,
  serveProxy,
  serveRaw,
  serveTcp,
} from "../../client/servers.ts";
import { diagnose, type Diagnosis, KEY, robotFor } from "./diagnose.ts";

const NETWORK = ["dns", "tcp", "proxy", "tls", "service"];

/** Expects one failure, with this text and remedy, and that no later check of the network ran. */
function expectFailure({ code, failed, skipped, check }: Diagnosis, id: string, what: RegExp, remedy: RegExp): void {
  expect({ code, failed }).toEqual({ code: 4, failed: [id] });
  expect(check(id)?.what).toMatch(what);
  expect(check(id)?.remedy).toMatch(remedy);
  const later = NETWORK.slice(NETWORK.indexOf(id) + 1);
  expect(later.filter((each) => skipped.includes(each))).toEqual(later);
}

const loopback = (port: number) => `http://127.0.0.1:${port}`;
const secure = (port: number) => `https://127.0.0.1:${port}`;
const DROPS = /^something on the network path drops packets: check firewall, proxy and MTU$/;
const ABSENT = /^Cannot use CA file \/nonexistent\/ca\.pem: it does not exist$/;
const PASSWORD = /requires a valid user name and password/;
const serveClosing = () => serveRaw("HTTP/1.1 400 Bad Request\r\n\r\n", "close");
const serveSilent = () => serveTcp(() => {});
const serveGuardedProxy = () => serveProxy("Basic bm90OnRoaXM=");

/** How a robot reaches the server of a test. */
interface Way {
  readonly url: string;
  readonly settings?: string;
  /** HTTPS_PROXY of the environment. */
  readonly proxy?: string;
}

type Serve = () => Promise<Pick<Listening, "port"> & AsyncDisposable>;

test.each<
  [name: string, serve: Serve | null, way: (port: number) => Way, failed: string, what: RegExp, remedy: RegExp]
>([
  ["no address", null, () => ({ url: "https://policy.invalid" }), "dns", /policy\.invalid/, /resolvectl|service\.url/],
  [
    "closed port",
    null,
    () => ({ url: loopback(1) }),
    "tcp",
    /^cannot connect to 127\.0\.0\.1 port 1 \(ECONNREFUSED\)$/,
    /^nothing listens there: check the port in service\.url, and that the service runs$/,
  ],
  ["packets dropped", serveDropped, (port) => ({ url: loopback(port) }), "tcp", /not answer within 1 s$/, /firewall/],
  ["no TLS", serveClosing, (port) => ({ url: secure(port) }), "tls", /does not speak TLS/, /openssl s_client/],
  // Its packets are the first large ones.
  ["no handshake", serveSilent, (port) => ({ url: secure(port) }), "tls", /^no connection within 1 s$/, DROPS],
  [
    "CA file that does not exist",
    () => serveProxy(null),
    (port) => ({ url: "https://127.0.0.1", settings: "  ca_file: /nonexistent/ca.pem\n", proxy: loopback(port) }),
    "tls",
    ABSENT,
    /^correct service\.ca_file$/,
  ],
  [
    "unknown kind",
    null,
    () => ({ url: "https://policy.test", proxy: "socks5://127.0.0.1:1" }),
    "proxy",
    /neither an http nor an https proxy/,
    /http:\/\/HOST:PORT/,
  ],
  [
    "wants a password, plain http",
    serveGuardedProxy,
    (port) => ({ url: "http://policy.test", settings: `  allow_insecure: true\n  proxy: ${loopback(port)}\n` }),
    "proxy",
    PASSWORD,
    /into service\.proxy/,
  ],
  [
    "wants another password",
    serveGuardedProxy,
    (port) => ({ url: "https://policy.test", proxy: `http://me:${KEY}@127.0.0.1:${port}` }),
    "proxy",
    PASSWORD,
    /into service\.proxy/,
  ],
])("%s → fails", async (_name, serve, way, failed, what, remedy) => {
  await using server = (await serve?.()) ?? null;
  const { url, settings = "", proxy } = way(server?.port ?? 0);
  await using robot = await robotFor(url, `${settings}  connect_timeout_s: 1`);
  expectFailure(await diagnose(robot, proxy === undefined ? {} : { HTTPS_PROXY: proxy }), failed, what, remedy);
});

test.skipIf(!canMount || !hasProgram("ip")).each([
  ["ENETUNREACH", "ip link set lo up", /^there is no route/],
  ["EHOSTUNREACH", "ip link set lo up && ip route add unreachable 192.0.2.7", /^no computer has this address/],
])("tcp: %s → what it usually means", { tags: "needs/root" }, async (code, network, remedy) => {
  await using robot = await robotFor("https://192.0.2.7:8443", "  connect_timeout_s: 5");
  const diagnosis = await diagnose(robot, {}, inShell(["unshare", "--net"], network));
  expectFailure(diagnosis, "tcp", new RegExp(`^cannot connect to 192\\.0\\.2\\.7 port 8443 \\(${code}\\)$`), remedy);
});

describe("certificates", { tags: "needs/program" }, () => {
  let authority: Authority;
  beforeAll(() => {
    authority = createAuthority();
  });
  afterAll(() => authority[Symbol.dispose]());

  const serveEmptyList = (host: string, validity: Validity) =>
    serveHttps(authority.issue(host, validity), (_request, response) => response.end("[]"));

  /** Diagnoses with a service of this certificate, through a proxy that resolves its name, or not. */
  async function diagnoseWith(host: string, validity: Validity, isProxied: boolean, settings: string) {
    await using server = await serveEmptyList(host, validity);
    await using proxy = await serveProxy(null);
    const name = isProxied ? "policy.test" : "localhost";
    await using robot = await robotFor(`https://${name}:${server.port}`, settings);
    return await diagnose(robot, isProxied ? { HTTPS_PROXY: loopback(proxy.port) } : {});
  }
  const trusting = () => `  ca_file: ${authority.ca_file}`;

  test.each([
    ["directly", false, /^none is used/],
    ["through a proxy", true, /^127\.0\.0\.1:\d+ lets us through to policy\.test:\d+; this shell names it/],
  ])("tls: a private authority in ca_file, %s → ok", async (_how, isProxied, proxy) => {
    const host = isProxied ? "policy.test" : "localhost";
    const { code, check } = await diagnoseWith(host, "now", isProxied, trusting());
    expect(code).toBe(0);
    expect(check("tls")).toMatchObject({
      status: "ok",
      what: "TLSv1.3, issued by Test Authority, valid until 2099-01-01",
    });
    expect(check("proxy")?.what).toMatch(proxy);
  });

  const NOT_TRUSTED = /^the certificate comes from Test Authority, which this machine does not trust$/;
  const PAST = /^the certificate is valid from 2020-01-01 to 2020-02-01, and the clock of this machine says 20/;
  const FUTURE = /^the certificate is valid from 2098-01-01 to 2099-01-01, and the clock/;
  const OTHER_HOST = /^the certificate is for other\.test, not for (?:localhost|policy\.test)$/;
  /** The server sends no chain, which may be the only problem. */
  const CHAIN = /service\.ca_file; or have the service send its whole chain/;
  test.each([
    ["of an authority that is not configured", false, null, "now", "", NOT_TRUSTED, CHAIN],
    ["of the past", false, null, "past", "trusting", PAST, /timedatectl/],
    ["of the future", false, null, "future", "trusting", FUTURE, /timedatectl/],
    ["for another host", false, "other.test", "now", "trusting", OTHER_HOST, /service\.url/],
    ["of an authority that is not configured", true, null, "now", "", NOT_TRUSTED, CHAIN],
    ["of the past", true, null, "past", "trusting", PAST, /timedatectl/],
    ["for another host", true, "other.test", "now", "trusting", OTHER_HOST, /service\.url/],
  ] as const)("scenario 3: tls: a certificate %s, through a proxy: %s → fails", async (...row) => {
    const [, isProxied, host, validity, settings, what, remedy] = row;
    const own = isProxied ? "policy.test" : "localhost";
    const configured = settings === "" ? "" : trusting();
    expectFailure(await diagnoseWith(host ?? own, validity, isProxied, configured), "tls", what, remedy);
  });

  test("init: the service's authority is not trusted → says so; with --ca-file it is", async () => {
    await using server = await serveEmptyList("localhost", "now");
    await using robot = await robotFor(`https://localhost:${server.port}`, "");
    const args = ["init", "--url", `https://localhost:${server.port}`, "--region", "eu", "--key-file", robot.keyPath];
    const init = (...more: string[]) => robot.run([...args, "--force", "--dir", robot.path("etc"), ...more]);
    expect((await init()).stdout).toMatch(/^fail +tls +the certificate comes from Test Authority, /m);
    expect((await init("--ca-file", authority.ca_file)).stdout).toMatch(
      /^ok +tls +.*\n(.*\n)*?ok +service .*accepts the key/m,
    );
    expect(await readFile(robot.path("etc/config.yaml"), "utf8")).toContain(`\n  ca_file: ${authority.ca_file}\n`);
  });

  test("tls: another authority in ca_file → names both, and asks for none", async () => {
    using other = createAuthority();
    await using server = await serveEmptyList("localhost", "now");
    await using robot = await robotFor(`https://localhost:${server.port}`, `  ca_file: ${other.ca_file}`);
    const what = `the certificate comes from Test Authority, which is not among the authorities in ${other.ca_file}`;
    const remedy = /^put that authority's certificate \(PEM\) into this file/;
    expectFailure(await diagnose(robot), "tls", new RegExp(`^${what}$`), remedy);
    const { stderr } = await robot.run(["--setup"]);
    expect(stderr).toContain(`it is not among those in ${other.ca_file}`);
    expect(stderr).not.toContain("set service.ca_file");
  });

  test.each([
    ["of an authority that is not configured", "now", /service\.ca_file/],
    ["of the past", "past", /timedatectl/],
  ] as const)("proxy: an https proxy with a certificate %s → fails", async (_name, validity, remedy) => {
    await using proxy = await serveProxy(null, authority.issue("localhost", validity));
    await using robot = await robotFor("https://policy.test", validity === "past" ? trusting() : "");
    const diagnosis = await diagnose(robot, { HTTPS_PROXY: `https://localhost:${proxy.port}` });
    expectFailure(diagnosis, "proxy", /^proxy: cannot trust localhost/, remedy);
  });
});

const HTML = { "content-type": "text/html" };
test.each([
  [4, "a captive portal", { status: 200, headers: HTML, body: "<html>" }, "a web page"],
  [
    4,
    "a redirect",
    { status: 302, headers: { location: "https://login.test/x?y" } },
    "redirects to https://login.test",
  ],
  [4, "a firewall", { status: 403, headers: HTML, body: "<html>" }, "HTTP 403 with a web page"],
  [4, "a network that wants a login", { status: 511, body: "{}" }, "HTTP 511 with JSON that gives no reason"],
  [4, "trouble", { status: 503, body: "{}" }, "HTTP 503 with JSON that gives no reason"],
  [1, "another program", { status: 404, body: '{"detail":"Not Found"}' }, "HTTP 404: Not Found"],
  [4, "no answer", null, "no whole answer within 1 s"],
  [
    4,
    "a clock three days ahead",
    { status: 200, body: "[]", headers: { date: daysAhead(3) } },
    "3 days behind the service's",
  ],
])("service: exit %i for %s", async (code, _case, answer, what) => {
  await using scene = await createScene({ service: "  request_timeout_s: 1" });
  scene.proxy.inject(answer === null ? { kind: "hang" } : { kind: "answer", ...answer });
  const found = await diagnose(scene.robot);
  expect([found.code, found.failed]).toEqual([code, ["service"]]);
  expect(found.check("service")?.what).toContain(what);
});

function daysAhead(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toUTCString();
}

test.each([
  [
    ["eu-central-2", "us-west-2"],
    {
      status: "warn",
      what: "the service has no endpoint in the region eu-central-1 (did you mean eu-central-2?)",
      remedy: "write one of these as robot.region: eu-central-2, us-west-2",
    },
  ],
  [["eu-central-1"], { status: "ok", what: expect.stringContaining("has an endpoint in eu-central-1") }],
])("region: the service has endpoints in %j", async (regions, expected) => {
  await using scene = await createSceneWithRegions(regions);
  const { code, check } = await diagnose(scene.robot);
  expect([code, check("service")]).toEqual([0, expect.objectContaining(expected)]);
});

test.each([
  ["a service that does not answer", "hang", { status: "ok" }],
  ["a service without the operation", null, { status: "ok" }],
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
  expect([code, check("service")]).toEqual([0, expect.objectContaining(expected)]);
});

test("registration: replaced, contested or missing at the service → reported", async ({ robot, proxy, service }) => {
  await robot.run(["--setup"]);
  const checkRegistration = async () => {
    const { code, check } = await diagnose(robot);
    return { code, ...check("service") };
  };
  expect(await checkRegistration()).toMatchObject({
    code: 0,
    status: "ok",
    what: expect.stringContaining("has the registration of arm-7"),
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
  expect(found.check("service")).toMatchObject({ status: "ok" });
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
  expect([code, check("service")]).toEqual([
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
  expect([code, check("service")]).toEqual([1, expect.objectContaining({ status: "ok" })]);
});
