/** @module-tag needs/program */
import { afterAll, beforeAll, expect, test } from "vitest";

import { type Authority, createAuthority } from "./authority.ts";
import { dump, listed } from "./harness.ts";
import { serveHttp, serveHttps, serveProxy, serveRaw } from "./servers.ts";

const PASSWORD = "pa55-w:rd@proxy";
const USER_INFO = `robot:${encodeURIComponent(PASSWORD)}`;
const BASIC = `Basic ${Buffer.from(`robot:${PASSWORD}`).toString("base64")}`;

let authority: Authority;
beforeAll(() => {
  authority = createAuthority();
});
afterAll(() => authority[Symbol.dispose]());

const answerEmpty = (_request: unknown, response: { end(text: string): void }) => response.end("[]");

test.each([
  ["service.proxy", (address: string) => ({ proxy: address })],
  ["HTTPS_PROXY", (address: string) => ({ environment: { HTTPS_PROXY: address } })],
  ["https_proxy", (address: string) => ({ environment: { https_proxy: address, HTTPS_PROXY: "http://127.0.0.1:1" } })],
])("scenario 11: proxy with a password from %s → used, TLS end to end with the service", async (_name, settings) => {
  await using server = await serveHttps(authority.issue("service.test"), answerEmpty);
  await using proxy = await serveProxy(BASIC);
  const result = await listed(`https://service.test:${server.port}`, {
    caFile: authority.ca_file,
    ...settings(`http://${USER_INFO}@127.0.0.1:${proxy.port}`),
  });
  expect(result).toEqual({ kind: "ok", status: 200, value: [] });
  expect(proxy.requests).toEqual([{ what: `CONNECT service.test:${server.port}`, authorization: BASIC }]);
});

test.each([
  ["localhost", "service.test"],
  ["127.0.0.1", "127.0.0.1"],
])("scenario 11: https proxy at %s → connected to over TLS, for %s", async (at, name) => {
  await using server = await serveHttps(authority.issue(name), answerEmpty);
  await using proxy = await serveProxy(null, authority.issue(at));
  const url = `https://${name}:${server.port}`;
  const settings = { proxy: `https://${at}:${proxy.port}` };
  expect(await listed(url, { ...settings, caFile: authority.ca_file })).toMatchObject({ kind: "ok" });
  expect(await listed(url, settings)).toMatchObject({
    kind: "unreachable",
    reason: "proxy",
    code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  });
});

test("scenario 11: proxy connects to another host → tls error", async () => {
  await using server = await serveHttps(authority.issue("other.test"), answerEmpty);
  await using proxy = await serveProxy(null);
  const result = await listed(`https://service.test:${server.port}`, {
    caFile: authority.ca_file,
    proxy: `http://127.0.0.1:${proxy.port}`,
  });
  expect(result).toMatchObject({ kind: "unreachable", reason: "tls", code: "ERR_TLS_CERT_ALTNAME_INVALID" });
});

test("scenario 11: plain http, allowed → forwarded by the proxy", async () => {
  await using proxy = await serveProxy(BASIC);
  const settings = { allow_insecure: true, environment: { HTTP_PROXY: `http://${USER_INFO}@127.0.0.1:${proxy.port}` } };
  expect(await listed("http://service.test/a", settings)).toMatchObject({ kind: "ok" });
  expect(proxy.requests).toEqual([{ what: "GET http://service.test/a/v1/robots", authorization: BASIC }]);
});

test("scenario 11: NO_PROXY → direct connection", async () => {
  await using server = await serveHttps(authority.issue("localhost"), answerEmpty);
  const result = await listed(`https://localhost:${server.port}`, {
    caFile: authority.ca_file,
    environment: { HTTPS_PROXY: "http://127.0.0.1:1", NO_PROXY: "example.com, localhost" },
  });
  expect(result).toMatchObject({ kind: "ok" });
});

test("scenario 11: plain http on this machine → never through a proxy of the environment", async () => {
  await using server = await serveHttp(answerEmpty);
  const environment = { HTTP_PROXY: "http://127.0.0.1:1", http_proxy: "http://127.0.0.1:1" };
  expect(await listed(`http://127.0.0.1:${server.port}`, { environment })).toMatchObject({ kind: "ok" });
});

interface Failure {
  readonly name: string;
  readonly answer: string;
  readonly code: string;
}

test.each<Failure>([
  { name: "status 407", answer: "HTTP/1.1 407 No\r\n\r\n", code: "HTTP_407" },
  { name: "status 403", answer: "HTTP/1.1 403 No\r\n\r\n", code: "HTTP_403" },
  { name: "status 503", answer: "HTTP/1.1 503 No\r\n\r\n", code: "HTTP_503" },
  { name: "no answer", answer: "", code: "PROXY_NO_ANSWER" },
  { name: "another protocol", answer: "SSH-2.0-x\r\n", code: "PROXY_NO_ANSWER" },
])("scenarios 11 and 16: proxy, $name → proxy error without its password", async ({ answer, code }) => {
  await using proxy = await serveRaw(answer, "close");
  const result = await listed("https://service.test", { proxy: `http://${USER_INFO}@127.0.0.1:${proxy.port}` });
  expect(result).toMatchObject({ kind: "unreachable", reason: "proxy", code });
  expectNoSecret(result);
});

test("scenarios 11 and 16: proxy refuses plain http → proxy error without its password", async () => {
  await using proxy = await serveProxy("Basic other");
  const settings = { allow_insecure: true, proxy: `http://${USER_INFO}@127.0.0.1:${proxy.port}` };
  const result = await listed("http://service.test", settings);
  expect(result).toMatchObject({ kind: "unreachable", reason: "proxy", code: "HTTP_407" });
  expectNoSecret(result);
});

test.each([
  ["refuses connections", `http://${USER_INFO}@127.0.0.1:1`, "ECONNREFUSED"],
  ["has no address", `http://${USER_INFO}@proxy.invalid`, /^E(NOTFOUND|AI_AGAIN)$/],
  ["has an invalid URL", `http://${USER_INFO}@:x`, "PROXY_URL"],
  ["has an unknown scheme", `socks5://${USER_INFO}@127.0.0.1:1`, "PROXY_SCHEME"],
  ["is wrongly encoded", "http://robot:%zz@127.0.0.1:1", "PROXY_URL"],
])("scenarios 11 and 16: proxy that %s → proxy error without its password", async (_name, proxy, code) => {
  const result = await listed("https://service.test", { proxy });
  expect(result).toMatchObject({
    kind: "unreachable",
    reason: "proxy",
    code: code instanceof RegExp ? expect.stringMatching(code) : code,
  });
  expectNoSecret(result);
});

test("scenario 11: proxy never answers → proxy error within the time limit", async () => {
  await using proxy = await serveRaw("", "keep-open");
  const timeouts = { connectMs: 200, headersMs: 5_000, totalMs: 5_000 };
  const result = await listed("https://service.test", {
    proxy: `http://${USER_INFO}@127.0.0.1:${proxy.port}`,
    timeouts,
  });
  expect(result).toMatchObject({ kind: "unreachable", reason: "proxy", code: "CONNECT_TIMEOUT" });
  expectNoSecret(result);
});

test("scenario 16: plain http through a proxy on another machine → refused, because it would see the key", async () => {
  const result = await listed("http://127.0.0.1:1", { proxy: "http://192.0.2.1:3128" });
  expect(result).toMatchObject({ kind: "unreachable", reason: "proxy", code: "PROXY_INSECURE" });
});

function expectNoSecret(result: unknown): void {
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), BASIC.slice("Basic ".length), "%zz"]) {
    expect(dump(result)).not.toContain(secret);
  }
}
