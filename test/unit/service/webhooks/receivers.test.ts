import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";

import { describe, expect, it, onTestFinished } from "vitest";

import { createReceivers, createSender } from "../../../../src/service/webhooks/receivers.ts";

const NOT_PUBLIC = "the address is not public, and the configuration of the service does not allow it";

/** The addresses passed to a connection for a name that resolves to these; `all` as undici requests, or one address. */
function lookedUp(
  allow: readonly string[],
  resolved: readonly string[],
  isAll = true,
  name = "hooks.example",
): Promise<unknown> {
  const addresses: LookupAddress[] = resolved.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const { lookup } = createReceivers(allow, (_name, _options, callback) => callback(null, addresses));
  return new Promise((resolve) => {
    lookup(name, { all: isAll }, (error, address) => {
      if (error !== null) return resolve("refused");
      return resolve(typeof address === "string" ? address : address.map((one) => one.address));
    });
  });
}

it("process that may not read its own addresses → an address is refused with the reason, a name is not", () => {
  const receivers = createReceivers(["192.168.0.0/16"], undefined, () => {
    throw new Error("EAFNOSUPPORT");
  });
  expect(receivers.problemOf("https://1.1.1.1/")).toBe(
    "the service cannot read its own addresses, and its configuration does not allow this one",
  );
  expect(receivers.problemOf("https://192.168.1.1/")).toBeNull();
  expect(receivers.problemOf("https://hooks.example/")).toBeNull();
});

const FORBIDDEN = [
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.168.1.1",
  "198.18.0.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "fc00::1",
  "fd12:3456::1",
  "fe80::1",
  "fec0::1",
  "ff02::1",
];
const PUBLIC = ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "2a00:1450::1"];

describe("receivers", () => {
  it.each(FORBIDDEN)("%s → refused in a URL and behind a name", async (address) => {
    const host = address.includes(":") ? `[${address}]` : address;
    expect(createReceivers([]).problemOf(`https://${host}/`)).toBe(NOT_PUBLIC);
    expect(await lookedUp([], [address])).toBe("refused");
    expect(await lookedUp([], [address], false)).toBe("refused");
  });

  it.each(PUBLIC)("%s → accepted in a URL and behind a name", async (address) => {
    const host = address.includes(":") ? `[${address}]` : address;
    expect(createReceivers([]).problemOf(`https://${host}/`)).toBeNull();
    expect(await lookedUp([], [address])).toEqual([address]);
    expect(await lookedUp([], [address], false)).toBe(address);
  });

  it("addresses of this machine, even public ones → refused in a URL and behind a name", async () => {
    const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    for (const { address } of own) expect(await lookedUp([], [address])).toBe("refused");
  });

  it("addresses of this machine withheld by the system → the lookup fails, and nothing is thrown", async () => {
    const withheld = Object.assign(new Error("withheld"), { code: "ERR_SYSTEM_ERROR" });
    const { lookup } = createReceivers(
      [],
      (_name, _options, callback) => callback(null, [{ address: "1.1.1.1", family: 4 }]),
      () => {
        throw withheld;
      },
    );
    const failure = await new Promise((resolve) => {
      lookup("hooks.example", { all: true }, (error) => resolve(error));
    });
    expect(failure).toBe(withheld);
  });

  it.each([
    ["https://0x7f.1/", NOT_PUBLIC],
    ["https://2130706433/", NOT_PUBLIC],
    ["https://0177.0.0.1/", NOT_PUBLIC],
    ["https://127.1/", NOT_PUBLIC],
    ["https://①②⑦.0.0.1/", NOT_PUBLIC],
    ["https://127.0.0.1./", NOT_PUBLIC],
    ["https://[::ffff:7f00:1]/", NOT_PUBLIC],
    ["https://hooks.example/", null],
    ["http://hooks.example/", "only https, unless the configuration of the service allows the host"],
    ["file:///etc/passwd", "write an https URL"],
    ["https://", "write an https URL"],
  ])("%s: %s", (url, problem) => {
    expect(createReceivers([]).problemOf(url)).toBe(problem);
  });

  it("name with a public and a forbidden address → only the public one is used", async () => {
    expect(await lookedUp([], ["127.0.0.1", "1.1.1.1", "::1"])).toEqual(["1.1.1.1"]);
    expect(await lookedUp([], ["127.0.0.1", "1.1.1.1"], false)).toBe("1.1.1.1");
  });

  it.each<[allow: string, url: string, problem: string | null]>([
    ["10.0.0.0/8", "https://10.1.2.3/", null],
    ["10.0.0.0/8", "http://10.1.2.3/", "only https, unless the configuration of the service allows the host"],
    ["10.1.2.3", "http://10.1.2.3/", null],
    ["10.1.2.3", "https://10.1.2.4/", NOT_PUBLIC],
    ["Hooks.Lab", "http://hooks.lab/", null],
    ["hooks.lab", "http://hooks.lab./", null],
    ["hooks.lab", "http://evil.hooks.lab/", "only https, unless the configuration of the service allows the host"],
    ["fd00::/8", "https://[fd00::1]/", null],
  ])("allow %s: %s", (allow, url, problem) => {
    expect(createReceivers([allow]).problemOf(url)).toBe(problem);
  });

  it("allow: name → any address; network → its addresses", async () => {
    expect(await lookedUp(["hooks.example"], ["10.0.0.1"])).toEqual(["10.0.0.1"]);
    expect(await lookedUp(["hooks.example"], ["10.0.0.1"], true, "Hooks.Example.")).toEqual(["10.0.0.1"]);
    expect(await lookedUp(["10.0.0.0/8"], ["10.0.0.1", "192.168.0.1"])).toEqual(["10.0.0.1"]);
  });
});

describe("a connection", () => {
  /** Counts connections to a port of this machine. */
  async function listen() {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("The server has no port");
    return { port: address.port, connections: () => connections };
  }

  it("to a system name that resolves to loopback → none", async () => {
    const { port, connections } = await listen();
    await using sender = createSender(createReceivers([]), 5000);
    const message = { url: `https://localhost:${port}/`, headers: {}, body: "{}" };
    const sent = await sender.send(message, new AbortController().signal);
    expect(sent).toEqual({ state: "failed", reason: "the address is not public" });
    expect(connections()).toBe(0);
  });

  it("to a name with changing addresses → each connection is checked by its own address", async () => {
    const { port, connections } = await listen();
    let lookups = 0;
    const receivers = createReceivers([], (_name, _options, callback) => {
      lookups += 1;
      callback(null, [{ address: "127.0.0.1", family: 4 }]);
    });
    await using sender = createSender(receivers, 5000);
    const message = { url: `https://hooks.example:${port}/`, headers: {}, body: "{}" };
    for (const count of [1, 2, 3]) {
      expect(await sender.send(message, new AbortController().signal)).toMatchObject({ state: "failed" });
      expect(lookups).toBe(count);
    }
    expect(connections()).toBe(0);
  });

  it("to an address that is no longer allowed → none", async () => {
    const { port, connections } = await listen();
    await using sender = createSender(createReceivers([]), 5000);
    const message = { url: `http://127.0.0.1:${port}/`, headers: {}, body: "{}" };
    expect(await sender.send(message, new AbortController().signal)).toMatchObject({ state: "failed" });
    expect(connections()).toBe(0);
  });
});
