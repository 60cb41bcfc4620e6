import { once } from "node:events";
import { createServer } from "node:net";

import { expect, test } from "vitest";

import { checkTcp } from "../../../src/agent/doctor/network.ts";
import { createOutgoing } from "../../../src/service/kernel/outgoing.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";
import { listed } from "./harness.ts";
import { never, PATIENT } from "./program.ts";
import { serveDropped } from "./servers.ts";

/** Longer than Node gives an address by default, if there is another one: 250 ms. */
const LINK_MS = 700;
const ADDRESSES = ["127.0.0.1", "::1"];

const hop = (port: number) => ({ host: "arm.test", port, program: "service", setting: "service.url" }) as const;

test.concurrent.each([
  ["the client of a service", (port: number) => listed(`http://localhost:${port}`), { kind: "ok" }],
  ["doctor", (port: number) => checkTcp(hop(port), ADDRESSES, PATIENT.connectMs, never()), { status: "ok" }],
  [
    "requests of the service",
    async (port: number) => {
      await using outgoing = createOutgoing({
        timeoutMs: PATIENCE_MS,
        answerBytes: 1024,
        lookup: (_host, _options, answer) =>
          answer(
            null,
            ADDRESSES.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
          ),
      });
      return await outgoing.send(`http://policy.test:${port}/healthz`, { headers: {} }, never());
    },
    { state: "answered", status: 200 },
  ],
])("%s: a slow address that works, and one that does not → connected", async (_who, send, expected) => {
  await using listener = await serveDropped(LINK_MS);
  expect(await send(listener.port)).toMatchObject(expected);
});

test("checkTcp: the first address does not answer → connected to the second", async () => {
  await using silent = await serveDropped();
  const server = createServer().listen(silent.port, "127.0.0.2");
  await once(server, "listening");
  const found = await checkTcp(hop(silent.port), ["127.0.0.1", "127.0.0.2"], 600, never());
  expect(found).toMatchObject({ what: `127.0.0.2 port ${silent.port} accepts connections` });
  server.close();
});
