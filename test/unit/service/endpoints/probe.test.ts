import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { promisify } from "node:util";

import { describe, expect, it } from "vitest";

import type { ServedModel } from "../../../../src/service/endpoints/queries.ts";
import { createHealthProbe } from "../../../../src/service/endpoints/prober.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { createAuthority } from "../../../integration/client/authority.ts";

const NEVER = new AbortController().signal;
/** For endless answers: long enough for their headers on a busy machine. */
const CUT_MS = 1000;

interface Listening extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Connections accepted so far. */
  readonly connections: () => number;
}

async function listen(server: Server): Promise<Listening> {
  let connections = 0;
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/health`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

const serve = (listener: RequestListener) => listen(createHttpServer(listener));

const NO_MODEL: ServedModel = { model_member: null, model_value: null };

async function probeOnce(url: string, { signal = NEVER, timeoutMs = PATIENCE_MS, served = NO_MODEL } = {}) {
  await using health = createHealthProbe(timeoutMs);
  return await health.probe(url, signal, served);
}

describe("HealthProbe.probe", () => {
  it.each([200, 204, 299])("%i → succeeded", async (status) => {
    await using server = await serve((_request, response) => response.writeHead(status).end());
    expect(await probeOnce(server.url)).toEqual({ state: "succeeded" });
  });

  it.each([300, 404, 500, 503])("%i → failed", async (status) => {
    await using server = await serve((_request, response) => response.writeHead(status).end("no"));
    expect(await probeOnce(server.url)).toEqual({ state: "failed", reason: `answered ${status}` });
  });

  it("redirect → not followed, failed", async () => {
    const paths: (string | undefined)[] = [];
    await using server = await serve(({ url }, response) => {
      paths.push(url);
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    expect(await probeOnce(server.url)).toEqual({ state: "failed", reason: "answered 302" });
    expect(paths).toEqual(["/health"]);
  });

  it("server accepts and never answers → failed within the time limit", async () => {
    await using server = await serve(() => {});
    const probed = await probeOnce(server.url, { timeoutMs: 300 });
    expect(probed).toEqual({ state: "failed", reason: "no answer within 300 ms" });
  });

  it("endless body → the status counts, memory and time stay bounded", async () => {
    let sent = 0;
    await using server = await serve((_request, response) => {
      response.writeHead(200);
      const pump = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16 * 1024))) sent += 16 * 1024;
      };
      response.on("drain", pump);
      pump();
    });
    expect(await probeOnce(server.url)).toEqual({ state: "succeeded" });
    await expect.poll(() => sent).toBeLessThan(16 * 1024 * 1024);
  });

  it("slow body → ends with the time limit of the probe", async () => {
    await using server = await serve((_request, response) => response.writeHead(200).write("."));
    expect(await probeOnce(server.url, { timeoutMs: CUT_MS })).toEqual({ state: "succeeded" });
  });

  it.each([
    ["no HTTP at all", (socket: { end(text: string): void }) => socket.end("SSH-2.0-OpenSSH_9.2\r\n")],
    ["a connection that breaks off", (socket: { destroy(): void }) => socket.destroy()],
    [
      "endless headers",
      (socket: { write(text: string): void }) => socket.write(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(64 * 1024)}`),
    ],
  ])("%s → failed, with a reason", async (_name, answer) => {
    await using server = await listen(createTcpServer((socket) => void socket.once("data", () => answer(socket))));
    expect(await probeOnce(server.url)).toEqual({ state: "failed", reason: expect.stringMatching(/^[\w ]{4,48}$/) });
  });

  it("connection refused → failed, with a reason", async () => {
    const server = await serve(() => {});
    await server[Symbol.asyncDispose]();
    expect(await probeOnce(server.url)).toEqual({ state: "failed", reason: "connection refused" });
    expect(await probeOnce("http://no-such-host.invalid/")).toMatchObject({ state: "failed" });
  });

  it("probe aborted by us → no statement about the endpoint", async () => {
    await using server = await serve(() => {});
    const stop = new AbortController();
    const probing = probeOnce(server.url, { signal: stop.signal });
    await expect.poll(server.connections).toBe(1);
    stop.abort();
    expect(await probing).toEqual({ state: "abandoned" });
  });

  it("each probe → a new connection, none stays open", async () => {
    await using server = await serve((_request, response) => response.end("ok"));
    await using health = createHealthProbe(PATIENCE_MS);
    for (let count = 0; count < 3; count += 1) await health.probe(server.url, NEVER);
    expect(server.connections()).toBe(3);
  });

  it(
    "HTTPS: untrusted certificate → failed; certificate of a trusted CA → succeeded",
    { tags: "needs/program" },
    async () => {
      using authority = createAuthority();
      const certified = authority.issue("127.0.0.1");
      await using server = await listen(
        createHttpsServer({ key: certified.key, cert: certified.cert }, (_request, response) => response.end("ok")),
      );
      const url = `https://127.0.0.1:${server.port}/health`;
      expect(await probeOnce(url)).toEqual({ state: "failed", reason: expect.stringMatching(/^[A-Z_]+$/) });
      const module = new URL("../../../../src/service/endpoints/prober.ts", import.meta.url).href;
      const script = `import { createHealthProbe } from ${JSON.stringify(module)};
      await using health = createHealthProbe(5000);
      console.log((await health.probe(${JSON.stringify(url)}, new AbortController().signal)).state);`;
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--input-type=module-typescript", "--eval", script],
        {
          env: { ...process.env, NODE_EXTRA_CA_CERTS: authority.ca_file },
        },
      );
      expect(stdout.trim()).toBe("succeeded");
    },
  );
});

describe("HealthProbe.probe of a server that should name its model", () => {
  const served = { model_member: "model.id", model_value: "pi05_yam" };
  const SILENT = { state: "failed", reason: "does not say which model it serves" };

  it.each([
    ["the right one", '{"model":{"id":"pi05_yam"},"loaded":true}', { state: "succeeded" }],
    ["another one", '{"model":{"id":"pi05_base"}}', { state: "failed", reason: "serves pi05_base, not pi05_yam" }],
    ["no such member", '{"model":"pi05_yam"}', SILENT],
    ["a member that every object inherits", '{"model":{"id":{"constructor":1}}}', SILENT],
    ["no JSON", "OK", SILENT],
    ["nothing", "", SILENT],
    ["no end", `{"model":{"id":"pi05_yam"},"x":"${"y".repeat(65_536)}"}`, SILENT],
    [
      "a hostile text",
      JSON.stringify({ model: { id: `\u001b[31m${"z".repeat(1000)}` } }),
      { state: "failed", reason: `serves \\u001b[31m${"z".repeat(74)}…, not pi05_yam` },
    ],
  ])("%s → said", async (_name, body, expected) => {
    await using server = await serve((_request, response) => response.end(body));
    expect(await probeOnce(server.url, { served })).toEqual(expected);
    expect(server.connections()).toBe(1);
  });

  it("in a list of models → by index", async () => {
    await using server = await serve((_request, response) => response.end('{"data":[{"id":"pi05_yam"}]}'));
    expect(await probeOnce(server.url, { served: { ...served, model_member: "data.0.id" } })).toEqual({
      state: "succeeded",
    });
  });

  it("an error → said as without a model", async () => {
    await using server = await serve((_request, response) =>
      response.writeHead(503).end('{"model":{"id":"pi05_yam"}}'),
    );
    expect(await probeOnce(server.url, { served })).toEqual({ state: "failed", reason: "answered 503" });
  });

  /** As openpi's websocket_policy_server.py: /healthz answers before the handshake, any other path begins a session. */
  it("openpi's server → healthy by /healthz without a session; it names no model", async () => {
    const requests: (string | undefined)[] = [];
    await using server = await serve(({ method, url, headers: { upgrade } }, response) => {
      requests.push(`${method} ${url} ${upgrade}`);
      if (url === "/healthz") response.end("OK\n");
      else response.writeHead(426, { upgrade: "websocket" }).end();
    });
    const healthUrl = `http://127.0.0.1:${server.port}/healthz`;
    expect(await probeOnce(healthUrl)).toEqual({ state: "succeeded" });
    expect(await probeOnce(healthUrl, { served })).toEqual(SILENT);
    expect(await probeOnce(server.url)).toEqual({ state: "failed", reason: "answered 426" });
    expect(requests).toEqual([...Array(2).fill("GET /healthz undefined"), "GET /health undefined"]);
  });

  /** LeRobot's policy_server.py is gRPC: any `Ready` resets it. Without HTTP/2's preface a gRPC server closes the connection. */
  it("LeRobot's server → no session is opened; healthy by a proxy beside it that names the model", async () => {
    const received: string[] = [];
    await using grpc = await listen(
      createTcpServer((socket) =>
        socket.once("data", (bytes) => {
          received.push(bytes.toString("latin1", 0, 3));
          // SETTINGS, then GOAWAY with PROTOCOL_ERROR.
          socket.end(Buffer.from("000000040000000000000008070000000000000000000000001", "hex"));
        }),
      ),
    );
    expect(await probeOnce(grpc.url)).toMatchObject({
      state: "failed",
      reason: expect.stringMatching(/^[\w ]{4,48}$/),
    });
    expect(received).toEqual(["GET"]);
    await using proxy = await serve((_request, response) => response.end('{"policy":{"path":"lab/act-packing"}}'));
    const named = { model_member: "policy.path", model_value: "lab/act-packing" };
    expect(await probeOnce(proxy.url, { served: named })).toEqual({ state: "succeeded" });
    expect(grpc.connections()).toBe(1);
  });
});
