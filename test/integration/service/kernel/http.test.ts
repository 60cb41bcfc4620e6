import { once } from "node:events";
import { connect, type Socket } from "node:net";

import { describe, expect, it, onTestFinished } from "vitest";

import { errorBodySchema } from "../../../../src/api/wire/errors.ts";
import { startService } from "../../../support/service/service.ts";
import { testService } from "../../../support/service/test-service.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const setup = { name: "r1", robot_type_id: "so101", region: "us-west-2", configuration_digest: DIGEST };

/** Sends the bytes unchanged, and reads until the service closes the connection. */
async function raw(url: string, ...parts: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  // The service may reset the connection after its answer.
  socket.on("error", () => {});
  const answer = collect(socket);
  for (const part of parts) socket.write(part);
  await once(socket, "close");
  return answer();
}

/** What the socket receives from now on; the function returns the text so far. */
function collect(socket: Socket): () => string {
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

describe("POST /v1/robots/setup", () => {
  it("body of the maximum size → 200; one byte more → 413", async () => {
    const { send } = await testService({ limits: { bodyBytes: 10_000 } });
    const sized = (size: number) => ({ ...setup, zz: "x".repeat(size - JSON.stringify({ ...setup, zz: "" }).length) });
    expect((await send("POST", "/v1/robots/setup", sized(10_000))).status).toBe(200);
    const refused = await send("POST", "/v1/robots/setup", sized(10_001));
    expect(refused.status).toBe(413);
    expect(await refused.json()).toEqual({
      detail: "The body is larger than 10000 bytes",
      message: "The body is larger than 10000 bytes",
      code: "PayloadTooLarge",
    });
  });

  it("chunked body beyond the limit → 413", async () => {
    const { url, key } = await testService({ limits: { bodyBytes: 10_000 } });
    const chunk = `1000\r\n${"x".repeat(0x1000)}\r\n`;
    const head = `POST /v1/robots/setup HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ntransfer-encoding: chunked\r\n\r\n`;
    expect(await raw(url, head, chunk, chunk, chunk)).toMatch(/^HTTP\/1.1 413 .*"code":"PayloadTooLarge"/s);
  });

  it.each(["json", "*/*", "application/json, text/plain", ""])(
    "content type %j → 422 as in FastAPI: the body is a string",
    async (contentType) => {
      const { url, key } = await testService();
      const headers = { authorization: `Bearer ${key}`, "content-type": contentType };
      const answer = await fetch(`${url}/v1/robots/setup`, { method: "POST", headers, body: "{}" });
      expect(answer.status).toBe(422);
      expect(await answer.json()).toMatchObject({
        detail: [{ type: "model_attributes_type", loc: ["body"], input: "{}" }],
      });
    },
  );

  /** Sends a request with a large body and no credential. */
  function sendLarge(url: string, head = "POST /v1/robots/setup HTTP/1.1") {
    const { hostname, port } = new URL(url);
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    const answer = collect(socket);
    const body = Buffer.alloc(64 * 1024 * 1024);
    socket.write(`${head}\r\nhost: x\r\ncontent-length: ${body.byteLength}\r\n\r\n`);
    let isBodySent = false;
    socket.write(body, (error) => void (isBodySent = error === undefined || error === null));
    return { socket, answer, isBodySent: () => isBodySent };
  }

  it.each([
    ["no credential", "POST /v1/robots/setup HTTP/1.1", 401],
    ["a path with an invalid escape", "POST /v1/%zz HTTP/1.1", 400],
    ["an expectation", "POST /v1/robots/setup HTTP/1.1\r\nhost: a\r\nexpect: a-miracle", 417],
  ])("large body refused for %s → not read to its end", async (_what, first, status) => {
    const { url } = await testService({ limits: { lingerMs: 100 } });
    const { socket, answer, isBodySent } = sendLarge(url, first);
    await expect.poll(() => socket.closed).toBe(true);
    expect(answer()).toMatch(new RegExp(`^HTTP/1.1 ${status} .*connection: close\r\n.*"detail":.*\\}$`, "s"));
    expect(isBodySent()).toBe(false);
  });

  it("large body refused → the connection stays open long enough to read the answer", async () => {
    const { url } = await testService({ limits: { lingerMs: 60_000 } });
    const { socket, answer } = sendLarge(url);
    await once(socket, "end");
    expect(answer()).toMatch(/^HTTP\/1\.1 401 .*"code":"Unauthorized"\}$/s);
    // A reset would have arrived before the answer to a later request.
    await fetch(`${url}/healthz`);
    expect(socket.closed).toBe(false);
  });

  it.each([
    ["unknown key", "wrong", /^HTTP\/1.1 401 /],
    ["valid key", "KEY", /^HTTP\/1.1 100 Continue/],
  ])("Expect: 100-continue with %s → answered before the body is sent", async (_who, token, first) => {
    const { url, key } = await testService();
    const bearer = token.replace("KEY", key);
    const head = `POST /v1/robots/setup HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearer}\r\nconnection: close\r\n`;
    expect(await raw(url, `${head}expect: 100-continue\r\ncontent-length: 2\r\n\r\n`, "{}")).toMatch(first);
  });

  it("Expect: 100-continue from HTTP/1.0, which does not know it → only the answer", async () => {
    const { url, key } = await testService();
    const head = `POST /v1/robots/setup HTTP/1.0\r\nauthorization: Bearer ${key}\r\n`;
    expect(await raw(url, `${head}expect: 100-continue\r\ncontent-length: 2\r\n\r\n`, "{}")).toMatch(/^HTTP\/1.1 422 /);
  });

  it("small body refused → read, and the connection is kept", async () => {
    const { url } = await testService();
    const body = JSON.stringify(setup);
    const head = `POST /v1/robots/setup HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n`;
    const answers = await raw(url, `${head}\r\n`, body, `${head}connection: close\r\n\r\n`, body);
    expect(answers.match(/HTTP\/1\.1 401 /g)).toHaveLength(2);
  });
});

describe("routing", () => {
  it.each<[method: string, path: string, status: number, allow?: string]>([
    ["GET", "/v1/fleets//", 404],
    ["POST", "/v1/fleets//model", 404],
    ["GET", "//v1/robots", 404],
    ["PROPFIND", "/v1", 404],
    ["GET", "/v1/robots/setup?x=1", 405, "POST"],
    ["HEAD", "/v1/robots/setup", 405, "POST"],
    ["GET", "/v1/robots/%73etup", 405, "POST"],
    ["POST", "/v1/%72obots", 405, "GET, HEAD"],
    ["PUT", "/v1/robots/a%2Fb%25", 405, "GET, HEAD, DELETE, PATCH"],
    ["POST", "/metrics", 405, "GET, HEAD"],
    ["POST", "/openapi.json", 405, "GET, HEAD"],
    ["PROPFIND", "/v1/robots", 405, "GET, HEAD"],
    ["POST", "/healthz", 405, "GET, HEAD"],
  ])("%s %s → %i", async (method, path, status, allow) => {
    const { url } = await testService();
    const answer = await fetch(url + path, { method });
    expect([answer.status, answer.headers.get("allow")]).toEqual([status, allow ?? null]);
    if (method === "HEAD") return;
    const { detail, message, code } = errorBodySchema.parse(await answer.json());
    expect([message, code]).toEqual([detail, status === 404 ? "NotFound" : "MethodNotAllowed"]);
  });

  it.each(["/v1/robots?limit=1#x", "/v1/robots#?limit=x", "/v1/robots??limit=x"])(
    "GET %s → a fragment is no part of the query, and a second question mark part of a name",
    async (target) => {
      const { url, key } = await testService();
      const head = `GET ${target} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`;
      expect(await raw(url, head)).toMatch(/^HTTP\/1.1 200 .*\[\]$/s);
    },
  );

  it.each([
    ["/v1/robots", true, 200],
    ["/v1/robots", false, 401],
    ["/v1/nothing", false, 404],
    ["/v1/%zz", false, 400],
  ])("%s, with a key: %s → %i, which no cache keeps and no browser takes for a page", async (path, hasKey, status) => {
    const { url, key } = await testService();
    const answer = await fetch(url + path, hasKey ? { headers: { authorization: `Bearer ${key}` } } : {});
    const told = ["cache-control", "x-content-type-options"].map((name) => answer.headers.get(name));
    expect([answer.status, ...told]).toEqual([status, "no-store", "nosniff"]);
  });

  it("/healthz and /readyz need no key", async () => {
    const { url } = await testService();
    const answers = await Promise.all(["/healthz", "/readyz"].map(async (path) => (await fetch(url + path)).json()));
    expect(answers).toEqual([{ status: "ok" }, { status: "ready" }]);
  });
});

describe("hostile connections", () => {
  const line = "GET /v1/robots HTTP/1.1\r\nhost: a\r\n";
  it.each([
    ["not HTTP", "nonsense\r\n\r\n", 400],
    ["two lengths", `${line}content-length: 1\r\ncontent-length: 2\r\n\r\n`, 400],
    ["endless headers", `${line}x: ${"y".repeat(70_000)}`, 431],
    ["a path with an invalid escape", "GET /v1/%zz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", 400],
    ["an expectation", `${line}expect: a-miracle\r\nconnection: close\r\n\r\n`, 417],
    ["one expectation of two", `${line}expect: 100-continue, a-miracle\r\n\r\n`, 417],
    ["no host", "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n", 400],
    ["no host in HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n", 200],
    ["the target *", "GET * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", 400],
    ["two hosts", "GET /healthz HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n", 400],
    ["another version", "GET /healthz HTTP/2.0\r\nhost: a\r\n\r\n", 505],
    ["no version", "GET /healthz\r\n\r\n", 505],
  ])("%s → a JSON object with an id that is in the log", async (_what, bytes, status) => {
    const { url, log } = await testService();
    const [head = "", body = ""] = (await raw(url, bytes)).split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head.toLowerCase()).toContain("content-type: application/json");
    const id = /\r\nx-request-id: ([0-9a-f]{24})(\r\n|$)/i.exec(head)?.[1] ?? "no id";
    await expect.poll(log).toContain(id);
    expect(head.toLowerCase()).toMatch(/\r\ndate: .* gmt(\r\n|$)/);
    expect(JSON.parse(body)).toEqual(expect.any(Object));
  });

  it.each([
    ["after the last request", "connection: close\r\n", /^HTTP\/1.1 200 (?:(?!HTTP\/).)*$/s],
    [
      "between requests",
      "",
      /^HTTP\/1.1 200 .*"api_key".*HTTP\/1.1 400 [^{]*\{"detail":"The request is malformed"\}$/s,
    ],
  ])("garbage %s → the complete request is answered", async (_where, header, answers) => {
    const { url, key } = await testService();
    const body = JSON.stringify({ label: "new" });
    const head = `POST /v1/me/api-keys HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;
    const bytes = `${head}${header}content-length: ${body.length}\r\n\r\n${body}garbage\r\n\r\n`;
    expect(await raw(url, bytes)).toMatch(answers);
  });

  it.each([
    ["headers", `${line}x-slow: `],
    [
      "a body",
      "POST /v1/robots/setup HTTP/1.1\r\nhost: a\r\nauthorization: Bearer KEY\r\ncontent-length: 100\r\n\r\n{",
    ],
  ])("%s that never end → 408, within the time limit", async (_what, bytes) => {
    const limits = { headersTimeoutMs: 200, requestTimeoutMs: 300, checkIntervalMs: 50 };
    const { url, key } = await testService({ limits });
    expect(await raw(url, bytes.replace("KEY", key))).toMatch(/^HTTP\/1.1 408 .*{"detail":/s);
  });

  it("client disconnects during its body → others are served, no error is logged", async () => {
    const { url, key, send, log } = await testService();
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    const head = `POST /v1/robots/setup HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-length: 100\r\n\r\n{`;
    await new Promise((resolve) => {
      socket.write(head, resolve);
    });
    socket.resetAndDestroy();
    expect((await send("GET", "/v1/robots")).status).toBe(200);
    expect(log()).not.toContain('"level":"error"');
  });
});

describe("logs", () => {
  it("events are logged, keys are not", async () => {
    const { send, url, key, log } = await testService();
    await send("POST", "/v1/robots/setup", setup);
    await send("POST", "/v1/robots/setup", { ...setup, name: key.repeat(3) });
    await fetch(`${url}/v1/robots?key=${key}`, { headers: { authorization: `Bearer ${key}` } });
    await fetch(`${url}/v1/robots`, { headers: { authorization: `Basic ${key}` } });
    for (const path of [key, `${"x".repeat(170)}${key}`, "a/".repeat(1000) + key]) {
      await fetch(`${url}/v1/me/api-keys/${path}`, { method: "DELETE" });
    }
    expect(log()).toContain("robot_registered");
    expect(log()).not.toContain(key.slice(0, 20));
  });
});

describe("stopping", () => {
  it("stop → requests in flight finish, new connections are refused", async () => {
    const running = await startService();
    const { url, key, dataDirectory } = running;
    const { hostname, port } = new URL(url);
    const body = JSON.stringify(setup);
    const socket = connect(Number(port), hostname);
    const answer = collect(socket);
    socket.write(
      `POST /v1/robots/setup HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`,
    );
    socket.write(`expect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`);
    // 100 Continue shows that the request is in flight.
    await once(socket, "data");
    const stopped = running[Symbol.asyncDispose]();
    socket.write(body);
    await once(socket, "close");
    await stopped;
    expect(answer()).toMatch(/HTTP\/1.1 200 OK.*connection: close.*"robot":/s);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow("fetch failed");
    expect(dataDirectory).not.toBe("");
  });

  it("stop → /readyz answers 503 with Retry-After", async () => {
    const running = await startService();
    const { hostname, port } = new URL(running.url);
    const [busy, probing] = [connect(Number(port), hostname), connect(Number(port), hostname)];
    const answer = collect(probing);
    const body = JSON.stringify(setup);
    busy.write(
      `POST /v1/robots/setup HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${running.key}\r\nexpect: 100-continue\r\n`,
    );
    busy.write(`content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`);
    // The first answer shows that the service has the beginning of the second request, so it does not close the connection as idle.
    probing.write("GET /readyz HTTP/1.1\r\nhost: x\r\n\r\nGET /readyz HTTP/1.1\r\n");
    await Promise.all([once(busy, "data"), once(probing, "data")]);
    const stopped = running[Symbol.asyncDispose]();
    await expect.poll(() => fetch(running.url).catch(() => "refused")).toBe("refused");
    probing.write("host: x\r\n\r\n");
    await once(probing, "close");
    busy.end(body);
    await stopped;
    expect(answer()).toMatch(/"ready".*HTTP\/1\.1 503 .*retry-after: 5\r\n.*is stopping/s);
  });

  it("request does not finish in time → its connection is closed", async () => {
    const running = await startService({ limits: { drainTimeoutMs: 100 } });
    const { hostname, port } = new URL(running.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write(
      `POST /v1/robots/setup HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${running.key}\r\nexpect: 100-continue\r\n`,
    );
    socket.write("content-length: 10\r\n\r\n");
    await once(socket, "data");
    const closed = once(socket, "close");
    await running[Symbol.asyncDispose]();
    await closed;
    expect(running.log()).toContain("drain_cut_short");
  });
});
