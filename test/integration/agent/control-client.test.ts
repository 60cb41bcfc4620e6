import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { askDaemon } from "../../../src/agent/control-client.ts";

test("askDaemon: a daemon that hangs is not waited for until its watchdog ends it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "hung-daemon-"));
  // Accepts, as the kernel does for a stopped process, and says nothing.
  const server = createServer((connection) => connection.resume());
  try {
    server.listen(join(folder, "control.sock"));
    await once(server, "listening");
    const answer = await askDaemon(join(folder, "control.sock"), "GET", "/status", new AbortController().signal);
    expect(answer).toEqual({ kind: "failed", detail: "no answer within 5 s" });
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
