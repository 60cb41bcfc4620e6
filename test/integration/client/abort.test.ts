import { execFile } from "node:child_process";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";

import { beforeAll, expect, test } from "vitest";

import { createAuthority } from "./authority.ts";
import { BODY } from "./harness.ts";
import { clientOf, PATIENT } from "./program.ts";
import { serveDropped, serveProxy, serveRaw, serveTcp } from "./servers.ts";

/** A prompt abort waits for nothing, so it takes few turns of the event loop, on any machine and without a time limit. */
const TURNS_MAXIMUM = 100;

async function turnsUntil(promise: Promise<unknown>): Promise<number> {
  const ended = promise.then(() => true);
  let turns = 0;
  while (!(await Promise.race([ended, nextTurn()]))) turns += 1;
  return turns;
}

// The first request loads modules; do not measure that.
beforeAll(() => clientOf("http://127.0.0.1:1").listRobots(new AbortController().signal));

/** @param until when to abort; without it, at once. */
async function expectPromptAbort(client: ReturnType<typeof clientOf>, until?: () => boolean): Promise<void> {
  const abort = new AbortController();
  const result = client.setupRobot(BODY, abort.signal);
  if (until !== undefined) await expect.poll(until, { interval: 5 }).toBe(true);
  abort.abort(new Error("must not be shown"));
  expect(await turnsUntil(result)).toBeLessThan(TURNS_MAXIMUM);
  expect(await result).toEqual({
    kind: "unreachable",
    reason: "aborted",
    code: "ABORTED",
    detail: "the request was aborted",
  });
}

test("scenario 38: abort before the request → aborted", async () => {
  await expectPromptAbort(clientOf("http://127.0.0.1:1", { timeouts: PATIENT }));
});

test("abort before the caller is ready → nothing is sent", async () => {
  let connections = 0;
  await using server = await serveTcp(() => (connections += 1));
  const [abort, ready] = [new AbortController(), Promise.withResolvers<void>()];
  const result = clientOf(`http://127.0.0.1:${server.port}`).setupRobot(BODY, abort.signal, ready.promise);
  for (let turn = 0; turn < TURNS_MAXIMUM; turn += 1) await nextTurn();
  abort.abort();
  ready.resolve();
  expect(await result).toMatchObject({ kind: "unreachable", reason: "aborted" });
  expect(connections).toBe(0);
});

test("scenario 38: abort while connecting → aborted", async () => {
  await using server = await serveDropped();
  const startMs = performance.now();
  await expectPromptAbort(clientOf(`http://127.0.0.1:${server.port}`), () => performance.now() - startMs > 100);
});

test.each([
  ["before the answer", ""],
  ["during the body", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n["],
])("scenario 38: abort %s → aborted, and the connection is closed", async (_name, sent) => {
  let requested = false;
  await using server = await serveTcp((socket) => {
    socket.once("data", () => {
      socket.write(sent);
      requested = true;
    });
  });
  await expectPromptAbort(clientOf(`http://127.0.0.1:${server.port}`), () => requested);
  await expect.poll(() => server.sockets.size).toBe(0);
});

test("scenario 38: abort during the TLS handshake → aborted, and the connection is closed", async () => {
  let greeted = false;
  await using server = await serveTcp((socket) => {
    socket.once("data", () => (greeted = true));
  });
  await expectPromptAbort(clientOf(`https://127.0.0.1:${server.port}`), () => greeted);
  await expect.poll(() => server.sockets.size).toBe(0);
});

test("scenario 38: abort before the answer of the proxy → aborted, and the connection is closed", async () => {
  let requested = false;
  await using proxy = await serveTcp((socket) => {
    socket.once("data", () => (requested = true));
  });
  const client = clientOf("https://service.test", { proxy: `http://127.0.0.1:${proxy.port}` });
  await expectPromptAbort(client, () => requested);
  await expect.poll(() => proxy.sockets.size).toBe(0);
});

test("close → aborts the running request and every later one", async () => {
  let requested = false;
  await using server = await serveTcp((socket) => {
    socket.once("data", () => (requested = true));
  });
  const client = clientOf(`http://127.0.0.1:${server.port}`);
  const result = client.listRobots(new AbortController().signal);
  await expect.poll(() => requested).toBe(true);
  await client.close();
  expect(await result).toMatchObject({ kind: "unreachable", reason: "aborted" });
  expect(await client.listRobots(new AbortController().signal)).toMatchObject({ reason: "aborted" });
  await expect.poll(() => server.sockets.size).toBe(0);
});

test("send → closes the connection, even if the server would keep it open", { tags: "needs/program" }, async () => {
  using authority = createAuthority();
  await using plain = await serveRaw(
    "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n[]",
    "keep-open",
  );
  await using refusing = await serveProxy("Basic other");
  for (const client of [
    clientOf(`http://127.0.0.1:${plain.port}`),
    clientOf("https://service.test", { proxy: `http://127.0.0.1:${refusing.port}`, caFile: authority.ca_file }),
  ]) {
    await client.listRobots(new AbortController().signal);
  }
  await expect.poll(() => plain.sockets.size + refusing.sockets.size).toBe(0);
});

test("send → leaves no timer that keeps the program running", async () => {
  await using server = await serveRaw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", "keep-open");
  const program = `
    import { clientOf, never } from ${JSON.stringify(join(import.meta.dirname, "program.ts"))};
    const timeouts = { connectMs: 600_000, headersMs: 600_000, totalMs: 600_000 };
    const client = clientOf("http://127.0.0.1:${server.port}", { timeouts });
    console.log((await client.listRobots(never())).kind);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  expect(stdout.trim()).toBe("ok");
});
