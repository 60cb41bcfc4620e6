import { expect, test } from "vitest";

import { isExempt, chooseProxy, parseProxy } from "../../../../src/client/transport/proxy.ts";

test.each([
  ["*", "anything.example", 443, true],
  ["none.invalid, *", "anything.example", 443, true],
  ["*:8443", "anything.example", 8443, true],
  ["*:8443", "anything.example", 443, false],
  ["example.com", "example.com", 443, true],
  ["EXAMPLE.com.", "example.COM", 443, true],
  ["example.com", "api.example.com", 443, true],
  ["example.com", "notexample.com", 443, false],
  [".example.com", "api.example.com", 443, true],
  [".example.com", "example.com", 443, true],
  ["*.example.com", "api.example.com", 443, true],
  ["*.example.com", "example.com", 443, false],
  ["example.com:443", "example.com", 443, true],
  ["example.com:443", "example.com", 8443, false],
  ["a.test b.test\tc.test", "b.test", 443, true],
  ["a.test,,b.test", "b.test", 443, true],
  ["10.1.2.3", "10.1.2.3", 443, true],
  ["10.1.2.3", "10.1.2.30", 443, false],
  ["10.1.2.3:80", "10.1.2.3", 443, false],
  ["10.0.0.0/8", "10.200.0.1", 443, true],
  ["10.0.0.0/8", "11.0.0.1", 443, false],
  ["10.0.0.0/8", "10.example", 443, false],
  ["10.0.0.0/99", "10.0.0.1", 443, false],
  ["0.0.0.0/0", "10.0.0.1", 443, true],
  ["fd00::/8", "fd12::1", 443, true],
  ["fd00::/8", "fe80::1", 443, false],
  ["::1", "::1", 443, true],
  ["0:0:0:0:0:0:0:1", "::1", 443, true],
  ["[::1]", "::1", 443, true],
  ["[::1]:443", "::1", 443, true],
  ["[::1]:80", "::1", 443, false],
  ["", "example.com", 443, false],
  [".", "example.com", 443, false],
  ["/", "example.com", 443, false],
  ["::::", "example.com", 443, false],
])("scenario 11: NO_PROXY %j, %s:%i → %s", (noProxy, host, port, expected) => {
  expect(isExempt(noProxy, host, port)).toBe(expected);
});

const P = "http://proxy.test:3128";
const S = "https://service.test";

test.each([
  ["nothing set", null, {}, S, false, "direct"],
  ["https by HTTPS_PROXY", null, { HTTPS_PROXY: P }, S, false, P],
  ["https not by HTTP_PROXY", null, { HTTP_PROXY: P }, S, false, "direct"],
  ["lower case first", null, { HTTPS_PROXY: "http://no:1", https_proxy: P }, S, false, P],
  ["empty is unset", null, { https_proxy: "", HTTPS_PROXY: P }, S, false, P],
  ["http by HTTP_PROXY", null, { HTTP_PROXY: P }, "http://service.test", true, P],
  ["the option before the environment", P, { HTTPS_PROXY: "http://no:1" }, S, false, P],
  ["none before the environment", "none", { HTTPS_PROXY: P }, S, false, "direct"],
  ["NO_PROXY before the environment", null, { HTTPS_PROXY: P, NO_PROXY: "service.test" }, S, false, "direct"],
  ["NO_PROXY before the option", P, { no_proxy: "service.test" }, S, false, "direct"],
  ["NO_PROXY with the default port", null, { HTTPS_PROXY: P, NO_PROXY: "service.test:443" }, S, false, "direct"],
  [
    "NO_PROXY for an IPv6 service",
    null,
    { HTTPS_PROXY: P, NO_PROXY: "fd00::/8" },
    "https://[fd00::1]",
    false,
    "direct",
  ],
  ["https on this machine", null, { HTTPS_PROXY: P }, "https://localhost", false, P],
  ["http on this machine, environment", null, { HTTP_PROXY: P }, "http://127.0.0.1:8080", false, "direct"],
  ["http on this machine, option", P, {}, "http://127.0.0.1:8080", false, "PROXY_INSECURE"],
  ["http and proxy on this machine", "http://[::1]:3128", {}, "http://127.0.0.1:8080", false, "http://[::1]:3128"],
  ["http on this machine, allowed", P, {}, "http://127.0.0.1:8080", true, P],
])("scenario 11: chooseProxy: %s", (_name, proxy, environment, url, allowInsecure, expected) => {
  const choice = chooseProxy({ proxy, environment, allow_insecure: allowInsecure }, new URL(url));
  const shown = choice.kind === "proxy" ? choice.url.origin : choice.kind === "direct" ? "direct" : choice.code;
  expect(shown).toBe(expected);
});

test.each([
  ["http://proxy.test:3128", "http://proxy.test:3128/", null],
  ["proxy.test:3128", "http://proxy.test:3128/", null],
  [" https://proxy.test ", "https://proxy.test/", null],
  ["http://u:p@proxy.test:1", "http://proxy.test:1/", "Basic dTpw"],
  ["http://u@proxy.test:1", "http://proxy.test:1/", "Basic dTo="],
  ["http://u:%C3%A9%40@proxy.test:1", "http://proxy.test:1/", `Basic ${Buffer.from("u:é@").toString("base64")}`],
])("parseProxy: %s", (address, url, authorization) => {
  const proxy = parseProxy(address);
  if (proxy.kind !== "proxy") throw new Error(proxy.what);
  expect(proxy.url.href).toBe(url);
  expect(proxy.authorization?.reveal() ?? null).toBe(authorization);
});

test.each([
  ["socks5://u:hidden@proxy.test:1", "PROXY_SCHEME"],
  ["http://", "PROXY_URL"],
  ["http://u:hidden@:99999", "PROXY_URL"],
  ["http://u:%zz-hidden@proxy.test", "PROXY_URL"],
])("scenario 16: parseProxy: invalid %s → error that does not repeat it", (address, code) => {
  const problem = parseProxy(address);
  expect(problem).toMatchObject({ kind: "proxy-problem", code });
  expect(JSON.stringify(problem)).not.toContain("hidden");
});
