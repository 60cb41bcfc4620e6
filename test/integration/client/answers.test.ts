import dns from "node:dns";
import { expect, test, vi } from "vitest";

import { BODY, listed, ROBOT } from "./harness.ts";
import { CANARY, clientOf, never, PATIENT, transportOf } from "./program.ts";
import { serveDropped, serveHttp, serveRaw, serveTcp } from "./servers.ts";

const head = (status: string, ...headers: string[]) =>
  `HTTP/1.1 ${status}\r\n${headers.map((h) => `${h}\r\n`).join("")}\r\n`;
const raw = (status: string, body: string, ...headers: string[]) =>
  head(status, `content-length: ${Buffer.byteLength(body)}`, ...headers) + body;

/** The key, escaped as JSON allows (RFC 8259 section 7). */
const ESCAPED = CANARY.replace("k", String.raw`\u006b`);

test("setupRobot → posts the body with the key, and decodes the robot", async () => {
  const seen: unknown[] = [];
  await using server = await serveHttp((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      seen.push({ method: request.method, url: request.url, headers: request.headers, body: JSON.parse(text) });
      response.end(JSON.stringify({ robot: { ...ROBOT, extra: 1 } }));
    });
  });
  const result = await clientOf(`http://127.0.0.1:${server.port}/prefix/`).setupRobot(BODY, never());
  expect(result).toEqual({ kind: "ok", status: 200, value: { robot: ROBOT } });
  expect(seen).toEqual([
    {
      method: "POST",
      url: "/prefix/v1/robots/setup",
      body: BODY,
      headers: {
        host: `127.0.0.1:${server.port}`,
        accept: "application/json",
        authorization: `Bearer ${CANARY}`,
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(JSON.stringify(BODY))),
        "user-agent": "test/1",
        connection: "close",
      },
    },
  ]);
});

const OTHER_KEY = "sk_live_0123456789abcdefOTHER";

test.each([
  ["the key as its id", { id: CANARY }, { id: "[secret]" }],
  ["the escaped key as its id", { id: ESCAPED }, { id: "[secret]" }],
  ["the key in its labels", { labels: { [CANARY]: `a ${CANARY}` } }, { labels: { "[secret]": "a [secret]" } }],
  ["the key as its name", { name: CANARY }, { name: "[secret]" }],
  ["another key", { region: OTHER_KEY, site: OTHER_KEY }, { region: "sk_…", site: "sk_…" }],
  ["an already redacted key", { site: "sk_live_…" }, { site: "sk_live_…" }],
  ["members of a later version", { future: CANARY }, {}],
])("setupRobot, robot with %s → keys are redacted", async (_name, members, redacted) => {
  const body = JSON.stringify({ robot: { ...ROBOT, ...members } }).replaceAll(String.raw`\\u`, String.raw`\u`);
  await using server = await serveRaw(raw("200 OK", body), "close");
  const result = await clientOf(`http://127.0.0.1:${server.port}`).setupRobot(BODY, never());
  expect(result).toEqual({ kind: "ok", status: 200, value: { robot: { ...ROBOT, ...redacted } } });
});

test.each([
  ["a name of 900 KB", { name: "N".repeat(900_000) }],
  ["an id of 513 characters", { id: "I".repeat(513) }],
  ["33 labels", { labels: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`k${index}`, "v"])) }],
])("setupRobot, robot with %s → undecodable", async (_name, members) => {
  await using server = await serveRaw(raw("200 OK", JSON.stringify({ robot: { ...ROBOT, ...members } })), "close");
  const result = await clientOf(`http://127.0.0.1:${server.port}`).setupRobot(BODY, never());
  expect(result).toMatchObject({ kind: "undecodable", detail: expect.stringContaining("longer than a robot can be") });
});

test.each([
  [200, "ok"],
  [201, "ok"],
  [202, "undecodable"],
  [203, "undecodable"],
  [205, "undecodable"],
  [206, "undecodable"],
])("setupRobot, a robot with status %i → %s", async (status, kind) => {
  await using server = await serveRaw(raw(`${status} Fine`, JSON.stringify({ robot: ROBOT })), "close");
  const result = await clientOf(`http://127.0.0.1:${server.port}`).setupRobot(BODY, never());
  expect(result).toMatchObject({ kind, status });
  if (result.kind === "undecodable") expect(result.detail).toMatch(/does not confirm|empty body/);
});

test("setupRobot without a credential → nothing is sent", async () => {
  let requests = 0;
  await using server = await serveHttp((_request, response) => {
    requests += 1;
    response.end();
  });
  const problem = { kind: "credential-problem", code: "key-missing", what: "no", where: "/key", fix: "make" } as const;
  const client = clientOf(`http://127.0.0.1:${server.port}`, { credential: async () => problem });
  expect(await client.setupRobot(BODY, never())).toEqual({ kind: "no-credential", problem });
  expect(requests).toBe(0);
});

test("scenario 18: key replaced → the next request sends the new one", async () => {
  const seen: (string | undefined)[] = [];
  await using server = await serveHttp((request, response) => {
    seen.push(request.headers.authorization);
    response.end("[]");
  });
  let key = "sk_test_old";
  const client = clientOf(`http://127.0.0.1:${server.port}`, { key: () => key });
  await client.listRobots(never());
  key = "sk_test_new";
  await client.listRobots(never());
  expect(seen).toEqual(["Bearer sk_test_old", "Bearer sk_test_new"]);
});

test.each([
  ["an empty list", raw("200 OK", "[]"), { kind: "ok", status: 200, value: [] }],
  [
    "chunked",
    head("200 OK", "transfer-encoding: chunked") + "1\r\n[\r\n1\r\n]\r\n0\r\n\r\n",
    { kind: "ok", value: [] },
  ],
  ["early hints before it", head("103 Early Hints", "link: </x>") + raw("200 OK", "[]"), { kind: "ok", status: 200 }],
  ["more bytes than announced", raw("200 OK", "[]") + "trailing junk", { kind: "ok", value: [] }],
  ["no content", head("204 No Content"), { kind: "undecodable", status: 204, detail: /empty body/ }],
  ["JSON of another shape", raw("200 OK", '[{"id":1}]'), { kind: "undecodable", detail: /at 0\.id/ }],
  [
    "bytes that are not UTF-8",
    Buffer.from(raw("200 OK", '["\xff"]').replace("length: 6", "length: 5"), "latin1"),
    { kind: "undecodable", detail: /instead of JSON/ },
  ],
  [
    "scenario 2: a captive portal",
    raw("200 OK", "<!DOCTYPE html><html>Log in</html>"),
    { kind: "undecodable", status: 200, detail: /captive portal/ },
  ],
  [
    "a redirect to another host",
    raw("302 Found", "", "location: https://evil.example/login?token=1"),
    { kind: "undecodable", status: 302, detail: /redirects to https:\/\/evil\.example;/ },
  ],
  ["a redirect without a target", raw("307 No", ""), { kind: "undecodable", status: 307 }],
  ["not modified", head("304 Not Modified"), { kind: "undecodable", status: 304 }],
  ["an unknown status class", raw("799 What", "[]"), { kind: "undecodable", status: 799 }],
  [
    "a refusal",
    raw("401 No", '{"detail":"Not authenticated"}', "x-request-id: req-1"),
    { kind: "refused", status: 401, detail: "Not authenticated", validation: null, request_id: "req-1" },
  ],
  [
    "a validation error",
    raw(
      "422 No",
      '{"detail":[{"loc":["body","name"],"msg":"too long","type":"string_too_long","input":"x","ctx":{}},7]}',
    ),
    {
      kind: "refused",
      status: 422,
      detail: "body.name: too long",
      validation: [{ loc: ["body", "name"], msg: "too long", type: "string_too_long" }],
    },
  ],
  [
    "a web page of a gateway",
    raw("502 Bad", "<center>nginx</center>", "content-type: text/html"),
    { kind: "refused", status: 502, detail: /status 502 with a web page/ },
  ],
  [
    "a web page of a gateway without a content type",
    raw("502 Bad", "<html>"),
    { kind: "refused", status: 502, detail: /status 502 with a web page/ },
  ],
  [
    "plain text",
    raw("500 No", "Internal Server Error", "content-type: text/plain"),
    { kind: "refused", status: 500, detail: "status 500 with data of another kind" },
  ],
  [
    "JSON of another service",
    raw("500 No", '{"error": {"message": "boom"}}', "content-type: application/json"),
    { kind: "refused", status: 500, detail: "status 500 with JSON that gives no reason" },
  ],
  [
    "a refusal without a body",
    head("503 No", "content-length: 0"),
    { kind: "refused", status: 503, detail: /empty body/ },
  ],
  ["scenario 6: delay of 7 s", raw("429 No", "{}", "retry-after: 7"), { kind: "refused", retryAfterMs: 7_000 }],
  [
    "scenario 6: a date, relative to the Date of the answer",
    raw("503 No", "{}", "date: Thu, 01 Jan 1970 00:00:00 GMT", "retry-after: Thu, 01 Jan 1970 00:01:30 GMT"),
    { kind: "refused", retryAfterMs: 90_000 },
  ],
  ["scenario 6: invalid delay", raw("503 No", "{}", "retry-after: 1e400"), { kind: "refused", retryAfterMs: null }],
  ["scenario 6: endless delay", raw("503 No", "{}", `retry-after: ${"9".repeat(50)}`), { retryAfterMs: 3_600_000 }],
  [
    "terminal escapes in a refusal",
    raw("400 No", JSON.stringify({ detail: "a\u001b[31mb\u0007\nc\u202ed" })),
    { kind: "refused", detail: "a[31mb cd" },
  ],
  ["a long refusal", raw("400 No", JSON.stringify({ detail: "x".repeat(9_000) })), { detail: /^x{499}…$/ }],
  ["another protocol", "SSH-2.0-OpenSSH_9\r\n", { kind: "unreachable", reason: "other", code: /^HPE_/ }],
  [
    "two lengths that differ",
    head("200 OK", "content-length: 2\r\ncontent-length: 3") + "[]",
    { kind: "unreachable", reason: "other", detail: /does not answer with valid HTTP/ },
  ],
  ["a connection closed without an answer", "", { kind: "unreachable", reason: "reset", code: "UND_ERR_SOCKET" }],
  ["truncated headers", "HTTP/1.1 200 OK\r\ncontent-le", { kind: "unreachable", reason: "reset" }],
  ["a truncated body", raw("200 OK", "[]").replace("length: 2", "length: 9"), { kind: "unreachable", reason: "reset" }],
  ["too large headers", head("200 OK", `x: ${"y".repeat(20_000)}`), { kind: "unreachable", reason: "other" }],
])("listRobots, answer: %s", async (_name, answer, expected: object) => {
  await using server = await serveRaw(answer, "close");
  const result = await listed(`http://127.0.0.1:${server.port}`);
  for (const [name, value] of Object.entries(expected)) {
    const actual = (result as unknown as Record<string, unknown>)[name];
    if (value instanceof RegExp) expect(actual).toMatch(value);
    else expect(actual).toEqual(value);
  }
});

test("listRobots, connection reset during the body → unreachable", async () => {
  await using server = await serveTcp((socket) => {
    socket.once("data", () => {
      socket.write(`${head("200 OK", "content-length: 100")}[`, () => setImmediate(() => socket.resetAndDestroy()));
    });
  });
  expect(await listed(`http://127.0.0.1:${server.port}`)).toMatchObject({ kind: "unreachable", reason: "reset" });
});

test.each(["200 OK", "500 No"])("setupRobot, endless body with %s → read only up to the limit", async (status) => {
  let sentBytes = 0;
  await using server = await serveTcp((socket) => {
    socket.once("data", () => {
      socket.write(head(status, "content-length: 99999999999"));
      const chunk = Buffer.alloc(65_536, " ");
      const pour = () => {
        while (!socket.destroyed && socket.write(chunk)) sentBytes += chunk.byteLength;
      };
      socket.on("drain", pour);
      pour();
    });
  });
  const result = await clientOf(`http://127.0.0.1:${server.port}`).setupRobot(BODY, never());
  expect(result.kind).toBe(status === "200 OK" ? "undecodable" : "refused");
  if (result.kind === "undecodable") expect(result.detail).toBe("the answer is larger than 1048576 bytes");
  // Includes what is in socket buffers and was never read.
  expect(sentBytes).toBeLessThan(64 * 1_048_576);
});

test.each([
  ["at the size limit → complete", 1000, true],
  ["one byte over the size limit → cut", 1001, false],
])("send, answer %s", async (_what, bytes, complete) => {
  await using server = await serveHttp((_request, response) => response.end("x".repeat(bytes)));
  const request = { method: "GET", headers: {}, body: null, timeouts: PATIENT, answerLimitBytes: 1000 } as const;
  const answer = await transportOf({}).send({ ...request, url: `http://127.0.0.1:${server.port}` }, never());
  expect([answer.complete, Buffer.from(answer.body).toString()]).toEqual([complete, "x".repeat(1000)]);
});

test("listRobots, very deeply nested success → undecodable", async () => {
  await using server = await serveHttp((_request, response) => {
    response.end(JSON.stringify([ROBOT]).replace("{}", `{"deep":${"[".repeat(500_000)}${"]".repeat(500_000)}}`));
  });
  const result = await listed(`http://127.0.0.1:${server.port}`);
  expect(result).toMatchObject({ kind: "undecodable", detail: "the answer is nested too deep" });
});

test("listRobots, 10,000 robots → accepted", async () => {
  const robots = Array.from({ length: 10_000 }, (_, index) => ({
    ...ROBOT,
    id: `rob_${index}`,
    site: "s".repeat(100),
  }));
  await using server = await serveHttp((_request, response) => response.end(JSON.stringify(robots)));
  const result = await listed(`http://127.0.0.1:${server.port}`);
  expect(result).toMatchObject({ kind: "ok", value: { length: 10_000 } });
});

test("setupRobot, very deeply nested refusal → refused, the stack is not exhausted", async () => {
  await using server = await serveHttp((_request, response) => {
    response.statusCode = 422;
    response.end(`{"detail":[{"loc":[],"msg":"m","type":"t","input":${"[".repeat(500_000)}${"]".repeat(500_000)}}]}`);
  });
  const result = await clientOf(`http://127.0.0.1:${server.port}`).setupRobot(BODY, never());
  expect(result).toMatchObject({ kind: "refused", validation: [{ msg: "m" }] });
});

test("listRobots, many long findings → cut to a few short ones", async () => {
  const finding = {
    loc: Array.from({ length: 99 }, () => "x".repeat(999)),
    msg: "m".repeat(999),
    type: "t".repeat(999),
  };
  await using server = await serveHttp((_request, response) => {
    response.statusCode = 422;
    response.end(JSON.stringify({ detail: Array.from({ length: 200 }, () => finding) }));
  });
  const result = await listed(`http://127.0.0.1:${server.port}`);
  expect(JSON.stringify(result).length).toBeLessThan(64 * (32 * 260 + 600));
  expect(result).toMatchObject({ kind: "refused", validation: { length: 64, 63: { loc: { length: 32 } } } });
});

test("scenario 2: name without an address → dns", async () => {
  const result = await listed("https://service.invalid");
  expect(result).toMatchObject({
    kind: "unreachable",
    reason: "dns",
    code: expect.stringMatching(/^E(NOTFOUND|AI_AGAIN)$/),
  });
});

test("scenario 2: closed port → connect", async () => {
  const server = await serveHttp(() => {});
  await server[Symbol.asyncDispose]();
  const result = await listed(`http://127.0.0.1:${server.port}`);
  expect(result).toMatchObject({ kind: "unreachable", reason: "connect", code: "ECONNREFUSED" });
});

test("scenario 2: port that drops packets → timeout", async () => {
  await using server = await serveDropped();
  const timeouts = { ...PATIENT, connectMs: 200 };
  const result = await listed(`http://127.0.0.1:${server.port}`, { timeouts });
  expect(result).toMatchObject({ kind: "unreachable", reason: "timeout", code: "CONNECT_TIMEOUT" });
});

test.each([
  { name: "no answer", sent: "", code: "HEADERS_TIMEOUT", limits: { headersMs: 200 } },
  { name: "half of the headers", sent: "HTTP/1.1 200 OK\r\nx: ", code: "HEADERS_TIMEOUT", limits: { headersMs: 200 } },
  { name: "only early hints", sent: head("103 Early Hints"), code: "HEADERS_TIMEOUT", limits: { headersMs: 200 } },
  {
    name: "half a body",
    sent: `${head("200 OK", "content-length: 9")}[`,
    code: "TOTAL_TIMEOUT",
    limits: { totalMs: 400 },
  },
])("listRobots, $name until the time limit → $code", async ({ sent, code, limits }) => {
  await using server = await serveRaw(sent, "keep-open");
  const timeouts = { ...PATIENT, ...limits };
  const result = await listed(`http://127.0.0.1:${server.port}`, { timeouts });
  expect(result).toMatchObject({ kind: "unreachable", reason: "timeout", code });
});

test("listRobots, slow answer within the limits → accepted", async () => {
  await using server = await serveHttp((_request, response) => {
    // Longer than the resolution of undici's timers.
    setTimeout(() => response.end("[]"), 1_600);
  });
  expect(await listed(`http://127.0.0.1:${server.port}`)).toMatchObject({ kind: "ok" });
});

test("listRobots, body that trickles in → cut by the total time limit", async () => {
  await using server = await serveTcp((socket) => {
    socket.write(head("200 OK", "content-length: 100000"));
    const drip = setInterval(() => socket.write(" "), 20);
    socket.on("close", () => clearInterval(drip));
  });
  const timeouts = { connectMs: 5_000, headersMs: 5_000, totalMs: 300 };
  const result = await listed(`http://127.0.0.1:${server.port}`, { timeouts });
  expect(result).toMatchObject({ kind: "unreachable", reason: "timeout", code: "TOTAL_TIMEOUT" });
});

test.each(["http://192.0.2.1", "ftp://192.0.2.1"])("send to %s → refused before any connection", async (url) => {
  expect(await listed(url)).toMatchObject({ kind: "unreachable", reason: "other", code: "SERVICE_URL" });
});

test("send → keeps path and query", async () => {
  const seen: (string | undefined)[] = [];
  await using server = await serveHttp((request, response) => {
    seen.push(request.url);
    response.end("[]");
  });
  const transport = transportOf({});
  const url = `http://127.0.0.1:${server.port}/v1/models/v1?limit=1`;
  const answer = await transport.send(
    { method: "GET", url, headers: {}, body: null, timeouts: PATIENT, answerLimitBytes: 9 },
    never(),
  );
  expect(answer).toMatchObject({ status: 200, complete: true });
  expect(seen).toEqual(["/v1/models/v1?limit=1"]);
});

test("listRobots, many concurrent → each gets its own answer", async () => {
  await using server = await serveHttp((request, response) => {
    // Without the prefix of the key, which would be redacted.
    response.end(JSON.stringify([{ ...ROBOT, name: request.headers.authorization?.slice("Bearer sk_".length) }]));
  });
  let count = 0;
  const client = clientOf(`http://127.0.0.1:${server.port}`, { key: () => `sk_test_${(count += 1)}_` });
  const results = await Promise.all(Array.from({ length: 50 }, () => client.listRobots(never())));
  const names = results.flatMap((result) => (result.kind === "ok" ? result.value.map((robot) => robot.name) : []));
  expect(new Set(names).size).toBe(50);
});

test("listRobots, localhost → loopback without a DNS lookup", async () => {
  await using server = await serveHttp((_request, response) => response.end("[]"));
  const lookup = vi.spyOn(dns, "lookup");
  try {
    const client = clientOf(`http://localhost:${server.port}`);
    expect(await client.listRobots(never())).toMatchObject({ kind: "ok" });
    expect(lookup).not.toHaveBeenCalled();
  } finally {
    lookup.mockRestore();
  }
});

test.each([
  ["http", {}],
  ["https", {}],
  ["http", { allow_insecure: true, isProxied: true }],
  ["https", { isProxied: true }],
])("send over %s, %j, to a server that closes each connection at once → one connection", async (scheme, how) => {
  let connections = 0;
  await using server = await serveTcp((socket) => {
    connections += 1;
    socket.end();
  });
  const { isProxied = false, ...settings } = { isProxied: false, ...how };
  const at = `127.0.0.1:${server.port}`;
  const result = await (isProxied
    ? listed(`${scheme}://service.test`, { ...settings, proxy: `http://${at}` })
    : listed(`${scheme}://${at}`));
  expect(result).toMatchObject({ kind: "unreachable" });
  expect(connections).toBe(1);
});
