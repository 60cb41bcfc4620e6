import { expect, onTestFinished, test, vi } from "vitest";

test("checkDns: a name with hundreds of addresses → eight of them", async () => {
  const addresses = Array.from({ length: 300 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  vi.doMock("node:dns/promises", () => ({ lookup: async () => addresses.map((address) => ({ address, family: 4 })) }));
  onTestFinished(() => void vi.doUnmock("node:dns/promises"));
  const { checkDns } = await import("../../../../src/agent/doctor/network.ts");
  const hop = { host: "policy.example", port: 443, program: "service", setting: "service.url" } as const;
  expect(await checkDns(hop)).toEqual({
    verdict: { status: "ok", what: `policy.example is ${addresses.slice(0, 8).join(", ")}` },
    value: addresses.slice(0, 8),
  });
});
