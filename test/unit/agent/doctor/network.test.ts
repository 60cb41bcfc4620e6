import { expect, test } from "vitest";

import { checkDns } from "../../../../src/agent/doctor/network.ts";

test("checkDns: a name with hundreds of addresses → eight of them", async () => {
  const addresses = Array.from({ length: 300 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  const hop = { host: "policy.example", port: 443, program: "service", setting: "service.url" } as const;
  expect(await checkDns(hop, async () => addresses.map((address) => ({ address, family: 4 })))).toEqual({
    verdict: { status: "ok", what: `policy.example is ${addresses.slice(0, 8).join(", ")}` },
    value: addresses.slice(0, 8),
  });
});
