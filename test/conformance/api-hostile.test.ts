import { once } from "node:events";
import { connect } from "node:net";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type RunningService, startService } from "../support/service/service.ts";
import { createClient } from "./api/client.ts";
import { register, setupOf } from "./api/registering.ts";

/**
 * Sends the bytes unchanged; resolves with everything received until the service closes the connection.
 *
 * @param isLast whether to half-close the connection after the bytes. If not, the service decides when to close it.
 */
async function raw(url: string, text: string, isLast = true): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  // The service may reset the connection after its answer.
  socket.on("error", () => {});
  let answer = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    answer += chunk;
  });
  socket.write(text, "latin1");
  if (isLast) socket.end();
  await once(socket, "close");
  return answer;
}

const statusesOf = (answer: string) =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)].map(([, status]) => Number(status));

describe("malicious requests", () => {
  let service: RunningService;
  const head = () => `Host: x\r\nAuthorization: Bearer ${service.key}\r\n`;
  const post = (headers: string, body: string) =>
    raw(
      service.url,
      `POST /v1/robots/setup HTTP/1.1\r\n${head()}Content-Type: application/json\r\n${headers}\r\n${body}`,
    );
  const body = JSON.stringify(setupOf("smuggled"));
  const length = `Content-Length: ${body.length}\r\n`;
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  it.each<[what: string, headers: string, body: string]>([
    ["a length and chunks", `${length}Transfer-Encoding: chunked\r\n`, chunked],
    ["chunks and a length", `Transfer-Encoding: chunked\r\n${length}`, chunked],
    ["two lengths", `${length}Content-Length: 3\r\n`, body],
    ["a negative length", "Content-Length: -1\r\n", body],
    ["chunked as the first of two encodings", "Transfer-Encoding: chunked, identity\r\n", chunked],
    ["a chunk size that overflows", "Transfer-Encoding: chunked\r\n", `${"f".repeat(20)}\r\n${body}`],
    ["a space before the colon", `Content-Length : ${body.length}\r\n`, body],
    ["a NUL in a header", `X-A: b\0c\r\n${length}`, body],
    ["a bare line feed in a header", `X-A: b\nTransfer-Encoding: chunked\r\n${length}`, body],
  ])("%s → 400, and nothing is registered", async (_what, headers, sent) => {
    const answer = await post(headers, sent);
    expect(statusesOf(answer)).toEqual([400]);
    expect(answer).toMatch(/connection: close/i);
    expect((await service.robots()).map(({ name }) => name)).not.toContain("smuggled");
  });

  it("bytes after a body → handled as the next request", async () => {
    const short = '{"name":1}';
    const answer = await raw(
      service.url,
      `POST /v1/robots/setup HTTP/1.1\r\n${head()}Content-Type: application/json\r\nContent-Length: ${short.length}\r\n\r\n${short}` +
        `GET /v1/models HTTP/1.1\r\n${head()}\r\n` +
        `GET /nowhere HTTP/1.1\r\n${head()}Connection: close\r\n\r\n`,
      false,
    );
    expect(statusesOf(answer)).toEqual([422, 200, 404]);
  });

  it("request without a credential after one with it on the same connection → 401", async () => {
    const bare = "GET /v1/robots HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const answer = await raw(service.url, `GET /v1/robots HTTP/1.1\r\n${head()}\r\n${bare}`, false);
    expect(statusesOf(answer)).toEqual([200, 401]);
  });

  it.each([
    "/v1/robots/%00",
    "/v1/robots/..%2f..%2fetc%2fpasswd",
    "/v1/robots/%ff",
    "/v1/robots/%zz",
    "/v1/../v1/models/../robots/x",
    "//v1/robots",
    "/v1/%72obots/x",
    "*",
    "http://evil.example/v1/nothing",
    "/v1/fleets/%ED%A0%80",
  ])("path %s → 400 or 404, without internals of the service", async (path) => {
    const answer = await raw(service.url, `GET ${path} HTTP/1.1\r\n${head()}\r\n`);
    expect(statusesOf(answer)[0]).toBeOneOf([400, 404]);
    expect(answer).not.toMatch(/node_modules|\.ts|\bat \w+ \(/);
  });

  it("Host and X-Forwarded headers → appear nowhere in the answer", async () => {
    const answer = await raw(
      service.url,
      `GET /v1/robots?limit=1 HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: gopher\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
    );
    expect(statusesOf(answer)).toEqual([200]);
    expect(answer).not.toContain("evil");
  });

  it("headers injected through the query → escaped in Link", async () => {
    const client = createClient(() => service.url, service.key);
    await register(client, ["a", "b"]);
    const note = "%0d%0aset-cookie:%20a=b%3e;%20rel=%22next%22,%20%3chttp://evil.example/";
    const answer = await raw(service.url, `GET /v1/robots?limit=1&note=${note} HTTP/1.1\r\n${head()}\r\n`);
    const link = /^link: (.*)\r$/im.exec(answer)?.[1];
    expect(link).toMatch(/^<[^<>"]*>; rel="next"$/);
    expect(answer).not.toMatch(/^set-cookie/im);
  });

  it("control characters in names, labels and headers → escaped in the log; keys are never logged", async () => {
    const client = createClient(() => service.url, service.key);
    const evil = 'x"}\r\n{"level":"info","event":"forged"}\u001b[2J\u2028\u0085';
    await register(client, [evil.slice(0, 64)], { site: evil, labels: { [evil]: evil } });
    await client.call("createApiKey", { body: { label: evil } });
    await client.send("getRobot", { path: { robot: evil } });
    await raw(service.url, `GET /v1/robots?key=${service.key} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await client.send("listRobots", { headers: { "x-request-id": "forged\u00ff", "user-agent": '"}forged' } });
    const log = service.log();
    for (const line of log.trimEnd().split("\n")) expect(JSON.parse(line)).not.toMatchObject({ event: "forged" });
    expect(log).not.toContain(service.key);
    // oxlint-disable-next-line no-control-regex
    expect(log).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
  });
});
