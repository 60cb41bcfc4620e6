import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

import { expect, test } from "vitest";

import { checkDns, checkTcp } from "../../../../src/agent/doctor/network.ts";

test("checkDns: a name with hundreds of addresses → sixteen of them", async () => {
  const addresses = Array.from({ length: 300 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  const hop = { host: "policy.example", port: 443, program: "service", setting: "service.url" } as const;
  expect(await checkDns(hop, async () => addresses.map((address) => ({ address, family: 4 })))).toEqual({
    verdict: { status: "ok", what: `policy.example is ${addresses.slice(0, 16).join(", ")}` },
    value: addresses.slice(0, 16),
  });
});

test("checkTcp: no route to one address, and nothing listens at the other → the host is reached", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const hop = { host: "policy.example", port, program: "service", setting: "service.url" } as const;
  // Linux has no route for connections to the broadcast address.
  const addresses = ["255.255.255.255", "127.0.0.1"];
  expect(await checkTcp(hop, addresses, 10_000, new AbortController().signal)).toMatchObject({
    status: "fail",
    what: `cannot connect to policy.example port ${port} (ECONNREFUSED)`,
    remedy: "nothing listens there: check the port in service.url, and that the service runs",
  });
});
