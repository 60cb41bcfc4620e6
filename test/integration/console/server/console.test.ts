import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

import { beforeAll, describe, expect, it, onTestFinished, afterAll } from "vitest";

import { buildConsole } from "../../../../scripts/build-console.ts";
import type { RunningService, ServiceOptions } from "../../../support/service/service.ts";
import { testService } from "../../../support/service/test-service.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "console-"));
  await buildConsole(folder);
});
afterAll(() => rm(folder, { recursive: true }));

async function service(options: ServiceOptions = {}): Promise<RunningService> {
  const configuration = { consoleFolder: folder, ...options.configuration };
  return testService({ ...options, configuration });
}

/** Sends a request without the headers that fetch adds. */
async function ask(url: string, headers: OutgoingHttpHeaders = {}, method = "GET") {
  const sent = request(url, { headers, method, agent: false });
  sent.end();
  const [answer]: [IncomingMessage] = (await once(sent, "response")) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: await buffer(answer) };
}

const assetsOf = (page: Buffer) => [...page.toString().matchAll(/\/console\/assets\/[\w.-]+/g)].map(([path]) => path);

describe("console page", () => {
  it.each([
    "/",
    "/login?exchange=login_1",
    "/robots",
    "/robots/",
    "/robots/arm%2F1",
    "/fleets/a/b",
    "/models",
    "/keys",
    "/usage",
  ])("%s → the page", async (path) => {
    const { url } = await service();
    const { status, headers, body } = await ask(url + path);
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(body.toString()).toContain('<div id="console">');
  });

  it("headers → a content security policy that allows only this service's scripts and data", async () => {
    const { url } = await service();
    const { headers } = await ask(url);
    delete headers["date"];
    delete headers["x-request-id"];
    delete headers["content-length"];
    expect(headers).toMatchInlineSnapshot(`
      {
        "cache-control": "no-cache",
        "connection": "close",
        "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "content-type": "text/html; charset=utf-8",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
      }
    `);
  });

  it.each([
    ["HTTP, where browsers ignore it", {}, undefined],
    [
      "HTTPS at the default port",
      { "x-forwarded-proto": "https", "x-forwarded-host": "robots.example" },
      "max-age=31536000",
    ],
    [
      "HTTPS at another port, because the header applies to all ports",
      { "x-forwarded-proto": "https", "x-forwarded-host": "robots.example:8443" },
      undefined,
    ],
  ])("%s: %j → Strict-Transport-Security: %s", async (_how, headers, expected) => {
    const { url } = await service({ configuration: { trustedProxies: ["127.0.0.1"] } });
    expect((await ask(url, headers)).headers["strict-transport-security"]).toBe(expected);
  });

  it("console off → 404", async () => {
    const { url } = await service({ configuration: { consoleFolder: null } });
    for (const path of ["/", "/robots", "/login", "/console/versions", "/console/assets/a.js"]) {
      const { status, headers } = await ask(url + path);
      expect([path, status, headers["content-type"]]).toEqual([path, 404, "application/json"]);
    }
  });

  it.each([
    ["POST", "/", "GET, HEAD"],
    ["DELETE", "/robots/arm", "GET, HEAD"],
    ["GET", "/console/session", "POST, DELETE"],
    ["POST", "/console/versions", "GET, HEAD"],
    ["PUT", "/console/assets/x.js", "GET, HEAD"],
    ["POST", "/console/logins/login_1", "GET, HEAD"],
  ])("%s %s → 405, Allow: %s", async (method, path, allow) => {
    const { url } = await service();
    const { status, headers } = await ask(url + path, {}, method);
    expect([status, headers.allow]).toEqual([405, allow]);
  });

  it.each(["/robot", "/robotsx", "/console", "/console/", "/index.html", "/robots.txt"])(
    "unknown path %s → 404, the page for browsers and JSON for programs",
    async (path) => {
      const { url } = await service();
      const { status, headers, body } = await ask(url + path, { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
      expect([status, headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
      expect(body.toString()).toContain('<div id="console">');
      expect(headers["content-security-policy"]).toContain("default-src 'none'");
      for (const accept of ["*/*", "application/json", "image/svg+xml"]) {
        const answer = await ask(url + path, { accept });
        expect([answer.status, answer.headers["content-type"]]).toEqual([404, "application/json"]);
      }
    },
  );

  it.each([
    ["GET", "/console/assets/"],
    ["GET", "/console/assets/..%2Findex.html"],
    ["GET", "/v1"],
    ["GET", "/v1/robot"],
    ["POST", "/robot"],
  ])("%s %s, not a page → 404 with JSON for browsers too", async (method, path) => {
    const { url } = await service();
    const { status, headers } = await ask(url + path, { accept: "text/html" }, method);
    expect([status, headers["content-type"]]).toEqual([404, "application/json"]);
  });

  it("/v1 from a browser → JSON", async () => {
    const { url } = await service();
    const { status, headers } = await ask(`${url}/v1/robots`, { accept: "text/html" });
    expect([status, headers["content-type"]]).toEqual([401, "application/json"]);
  });

  it("logs and metrics → the route, never the requested path", async () => {
    const { url, log } = await service();
    await ask(`${url}/login?exchange=login_secret`);
    await ask(`${url}/robots/secret-robot`);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('route="/robots/*",status="200"');
    expect(metrics).not.toContain("secret");
    expect(log()).not.toContain("login_secret");
  });
});

describe("assets of the page", () => {
  it("name contains a hash of the content → cached for a year", async () => {
    const { url } = await service();
    const assets = assetsOf((await ask(url)).body);
    expect(assets.map((path) => path.replace(/-\w{10}\./, "-HASH."))).toEqual([
      "/console/assets/favicon-HASH.svg",
      "/console/assets/console-HASH.css",
      "/console/assets/console-HASH.js",
    ]);
    for (const path of assets) {
      const { status, headers, body } = await ask(url + path);
      expect([status, headers["cache-control"]]).toEqual([200, "public, max-age=31536000, immutable"]);
      expect([headers["x-content-type-options"], headers["content-encoding"]]).toEqual(["nosniff", "gzip"]);
      expect(gunzipSync(body).length).toBeGreaterThan(body.length / 2);
      expect(headers["content-type"]).toMatch(/^(?:image\/svg\+xml|text\/(?:css|javascript); charset=utf-8)$/);
    }
  });

  it("compressed file by its own name → 404", async () => {
    const { url } = await service();
    const [path = ""] = assetsOf((await ask(url)).body);
    expect((await ask(`${url}${path}.gz`)).status).toBe(404);
  });

  it("page with all assets → less than 58 KB transferred", async () => {
    const { url } = await service();
    const page = await ask(url);
    const sizes = await Promise.all(assetsOf(page.body).map(async (path) => (await ask(url + path)).body.length));
    expect(sizes.reduce((sum, size) => sum + size, page.body.length)).toBeLessThan(58_000);
  });
});

describe("console not built", () => {
  async function emptyFolder(): Promise<string> {
    const empty = await mkdtemp(join(tmpdir(), "no-console-"));
    onTestFinished(() => rm(empty, { recursive: true }));
    return empty;
  }

  it("service works, page says how to build it → a build is used without a restart", async () => {
    const empty = await emptyFolder();
    const { url, send, key } = await service({ configuration: { consoleFolder: empty } });
    const { status, headers, body } = await ask(url);
    expect([status, headers["content-type"]]).toEqual([503, "text/html; charset=utf-8"]);
    expect(body.toString()).toContain("npm run build");
    expect((await send("GET", "/v1/robots")).status).toBe(200);
    expect(key).toMatch(/^sk_/);
    await buildConsole(empty);
    expect((await ask(url)).status).toBe(200);
  });

  it("build cannot be read, several requests → logged once", async () => {
    const broken = await emptyFolder();
    await mkdir(join(broken, "index.html"));
    const { url, log } = await service({ configuration: { consoleFolder: broken } });
    for (let count = 0; count < 3; count += 1) expect((await ask(url)).status).toBe(503);
    expect(log().match(/"event":"console_unreadable"/g)).toHaveLength(1);
  });
});
