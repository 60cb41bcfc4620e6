/** @module-tag needs/program */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { looksLikeClock } from "../../../src/client/transport/transport.ts";
import { COMPILE_CACHE } from "../../support/programs/programs-built.ts";
import { type Authority, createAuthority } from "./authority.ts";
import { listed } from "./harness.ts";
import { clientOf, never } from "./program.ts";
import { serveHttp, serveHttps, serveTcp } from "./servers.ts";

let authority: Authority;
beforeAll(() => {
  authority = createAuthority();
});
afterAll(() => authority[Symbol.dispose]());

const answerEmpty = (_request: unknown, response: { end(text: string): void }) => response.end("[]");

test("scenario 11: private authority → trusted with ca_file only", async () => {
  await using server = await serveHttps(authority.issue("localhost"), answerEmpty);
  const url = `https://localhost:${server.port}`;
  expect(await listed(url, { caFile: authority.ca_file })).toMatchObject({ kind: "ok" });
  expect(await listed(url)).toMatchObject({
    kind: "unreachable",
    reason: "tls",
    code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    detail: expect.stringContaining("its certificate comes from an unknown authority"),
  });
});

test("scenario 11: IP address instead of a name → checked against the certificate", async () => {
  await using server = await serveHttps(authority.issue("127.0.0.1"), answerEmpty);
  const url = `https://127.0.0.1:${server.port}`;
  expect(await listed(url, { caFile: authority.ca_file })).toMatchObject({ kind: "ok" });
});

test.each([
  ["expired", "localhost", "past", "CERT_HAS_EXPIRED", true],
  ["not valid yet", "localhost", "future", "CERT_NOT_YET_VALID", true],
  ["for another host", "other.example", "now", "ERR_TLS_CERT_ALTNAME_INVALID", false],
] as const)("scenario 3: certificate %s → refused", async (_name, host, validity, code, clock) => {
  await using server = await serveHttps(authority.issue(host, validity), () => {
    throw new Error("a request arrived");
  });
  const result = await listed(`https://localhost:${server.port}`, { caFile: authority.ca_file });
  expect(result).toMatchObject({ kind: "unreachable", reason: "tls", code });
  expect(looksLikeClock(code)).toBe(clock);
});

test("scenario 3: NODE_TLS_REJECT_UNAUTHORIZED=0 → certificates are still verified", async () => {
  await using server = await serveHttps(authority.issue("localhost"), answerEmpty);
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  try {
    expect(await listed(`https://localhost:${server.port}`)).toMatchObject({ kind: "unreachable", reason: "tls" });
  } finally {
    vi.unstubAllEnvs();
  }
});

test("listRobots, server does not speak TLS → tls, suggests http", async () => {
  await using server = await serveHttp(answerEmpty);
  const result = await listed(`https://127.0.0.1:${server.port}`);
  expect(result).toMatchObject({
    kind: "unreachable",
    reason: "tls",
    code: expect.stringMatching(/^ERR_SSL_/),
    detail: expect.stringContaining("was http:// meant?"),
  });
});

test("listRobots, plain http to a TLS port → suggests https", async () => {
  await using server = await serveHttps(authority.issue("localhost"), answerEmpty);
  const result = await listed(`http://127.0.0.1:${server.port}`);
  expect(result).toMatchObject({ kind: "unreachable", detail: expect.stringContaining("was https:// meant?") });
});

test("listRobots, handshake reset → reset", async () => {
  await using server = await serveTcp((socket) => socket.once("data", () => socket.resetAndDestroy()));
  expect(await listed(`https://127.0.0.1:${server.port}`)).toMatchObject({ kind: "unreachable", reason: "reset" });
});

test("scenario 11: ca_file with several certificates and text → all are trusted", async () => {
  using other = createAuthority();
  const bundle = join(authority.directory, "bundle.pem");
  writeFileSync(
    bundle,
    `# ours\n${readFileSync(other.ca_file, "utf8")}\n# theirs\r\n${readFileSync(authority.ca_file, "utf8")}`,
  );
  await using server = await serveHttps(authority.issue("localhost"), answerEmpty);
  expect(await listed(`https://localhost:${server.port}`, { caFile: bundle })).toMatchObject({ kind: "ok" });
});

test("scenario 11: ca_file replaced → used by the next request", async () => {
  using other = createAuthority();
  const caFile = join(authority.directory, "replaced.pem");
  await using server = await serveHttps(authority.issue("localhost"), answerEmpty);
  const client = clientOf(`https://localhost:${server.port}`, { caFile });
  writeFileSync(caFile, readFileSync(other.ca_file));
  expect(await client.listRobots(never())).toMatchObject({ kind: "unreachable", reason: "tls" });
  writeFileSync(caFile, readFileSync(authority.ca_file));
  expect(await client.listRobots(never())).toMatchObject({ kind: "ok" });
});

test.each([
  ["missing", null, "CA_FILE_MISSING"],
  ["without a certificate", "hello", "CA_FILE_NOT_PEM"],
  ["truncated", "-----BEGIN CERTIFICATE-----\nMIIB", "CA_FILE_BAD_CERTIFICATE"],
  ["damaged", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "CA_FILE_BAD_CERTIFICATE"],
  ["a private key", "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n", "CA_FILE_PRIVATE_KEY"],
  ["too large", "x".repeat(1_048_577), "CA_FILE_TOO_LARGE"],
])("scenario 11: ca_file %s → the error names it", async (_name, content, code) => {
  const caFile = join(authority.directory, content === null ? "absent.pem" : "bad.pem");
  if (content !== null) writeFileSync(caFile, content);
  const result = await listed("https://localhost:1", { caFile });
  expect(result).toMatchObject({ kind: "unreachable", reason: "tls", code, detail: expect.stringContaining(caFile) });
});

test("scenario 11: ca_file is a folder → the error names it", async () => {
  const result = await listed("https://localhost:1", { caFile: authority.directory });
  expect(result).toMatchObject({
    reason: "tls",
    code: "CA_FILE_UNREADABLE",
    detail: expect.stringContaining("EINVAL"),
  });
});

test("scenario 11: authority in the store of the system → trusted without ca_file", async () => {
  await using server = await serveHttps(authority.issue("localhost"), answerEmpty);
  const program = `
    import { clientOf, never } from ${JSON.stringify(join(import.meta.dirname, "program.ts"))};
    const client = clientOf("https://localhost:${server.port}", { environment: process.env });
    console.log((await client.listRobots(never())).kind, (await client.listRobots(never())).kind);`;
  mkdirSync(join(authority.directory, "store"));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    env: {
      PATH: "/usr/bin:/bin",
      ...COMPILE_CACHE,
      SSL_CERT_FILE: authority.ca_file,
      SSL_CERT_DIR: join(authority.directory, "store"),
    },
  });
  expect([stdout.trim(), stderr]).toEqual(["ok ok", ""]);
});

test("createAuthority → certificates that openssl verifies", () => {
  const { cert } = authority.issue("localhost");
  const path = join(authority.directory, "leaf-to-verify.pem");
  writeFileSync(path, cert);
  expect(() =>
    execFileSync("openssl", ["verify", "-CAfile", authority.ca_file, path], { stdio: "pipe" }),
  ).not.toThrow();
});
