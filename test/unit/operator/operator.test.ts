import { describe, expect, test } from "vitest";

import { createTerminal } from "../../../src/cli/terminal.ts";
import type { CallResult } from "../../../src/client/client.ts";
import { openService, showFailure } from "../../../src/operator/operator.ts";
import { systemMachine } from "../../../src/platform/machine.ts";

function open() {
  let err = "";
  const terminal = createTerminal({
    stdout: { write() {} },
    stderr: { write: (text) => void (err += text) },
    environment: {},
  });
  return { terminal, err: () => err };
}

type Failure = Exclude<CallResult<unknown>, { kind: "ok" }>;

const refused = (status: number, detail: string): Failure => {
  return { kind: "refused", status, detail, validation: null, retry_after_ms: null, request_id: null };
};
const untrusted = (code: string): Failure => ({ kind: "unreachable", reason: "tls", code, detail: "no trust" });

describe("showFailure", () => {
  test.each<[string, Failure, number, string]>([
    ["a private authority", untrusted("SELF_SIGNED_CERT_IN_CHAIN"), 4, "--ca-file FILE"],
    ["a CA file that is none", untrusted("CA_FILE_NOT_PEM"), 4, "correct --ca-file"],
    ["an expired certificate", untrusted("CERT_HAS_EXPIRED"), 4, "check the clock"],
    ["a key that is not known", refused(401, "Invalid API key"), 5, "use a key that is valid"],
    ["a key that lacks a scope", refused(403, "The API key lacks the scope robots:read"), 5, "a key that may do this"],
    ["too many requests", refused(429, "slow down"), 6, "wait"],
    ["a service in trouble", refused(503, "no store"), 4, "tell whoever runs the service"],
    ["a request that is wrong", refused(422, "name: too long"), 6, "correct what the service names"],
  ])("showFailure: %s", (_case, failure, exit_code, remedy) => {
    const { terminal, err } = open();
    expect(showFailure(failure, terminal)).toBe(exit_code);
    expect(err()).toContain(remedy);
  });
});

test("openService: plain http to another machine is allowed by a flag, not by a configuration", () => {
  const { terminal, err } = open();
  const context = {
    terminal,
    machine: systemMachine({}, process.pid),
    environment: {},
    signal: new AbortController().signal,
    user_id: 0,
    version: "1.2.3",
  };
  expect(openService({ url: "http://10.0.0.1" }, context)).toBeNull();
  expect(err()).toContain("--allow-insecure");
  expect(err()).not.toContain("allow_insecure");
});
