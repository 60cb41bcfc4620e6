import { describe, expect, test } from "vitest";

import { createTerminal } from "../../../src/cli/terminal.ts";
import { type Failure, isUnknownOperation, showFailure } from "../../../src/operator/failure.ts";
import { flagPlaces } from "../../../src/operator/body.ts";
import { text, texts } from "../../../src/operator/flags.ts";

function open() {
  let err = "";
  const terminal = createTerminal({
    stdout: { write() {} },
    stderr: { write: (text) => void (err += text) },
    environment: {},
  });
  return { terminal, err: () => err };
}

const hasSentChange = true;
const summary = "list the robots, oldest first";
const credential = { source: "key-file", name: "the key in /k", another: "put another key into /k" } as const;

const refused = (status: number, detail: string): Extract<Failure, { kind: "refused" }> => {
  return { kind: "refused", status, detail, validation: null, retryAfterMs: null, request_id: null };
};
const unanswered = { kind: "unreachable", reason: "timeout", detail: "no answer" } as const;
const untrusted = (code: string): Failure => ({ kind: "unreachable", reason: "tls", code, detail: "no trust" });

describe("showFailure", () => {
  test.each<[string, Failure, number, string]>([
    ["a private authority", untrusted("SELF_SIGNED_CERT_IN_CHAIN"), 4, "--ca-file FILE"],
    ["an invalid CA file", untrusted("CA_FILE_NOT_PEM"), 4, "correct --ca-file"],
    ["a host that never answers", { ...unanswered, code: "ETIMEDOUT" }, 4, "→ check the address and the network"],
    ["an answer that never comes", { ...unanswered, code: "HEADERS_TIMEOUT" }, 4, "a change may have been applied"],
    [
      "a proxy that wants a password",
      { kind: "unreachable", reason: "proxy", code: "HTTP_407", detail: "proxy p:1 requires a password (407)" },
      4,
      "→ correct HTTPS_PROXY or HTTP_PROXY, or name the service in NO_PROXY",
    ],
    ["an expired certificate", untrusted("CERT_HAS_EXPIRED"), 4, "check the clock"],
    ["a refused credential", refused(401, "Invalid API key"), 5, "does not accept the key in /k"],
    ["another credential", refused(401, "Invalid API key"), 5, "put another key into /k"],
    ["a key that lacks a scope", refused(403, "It lacks robots:read"), 5, "sent with the key in /k"],
    ["an unknown resource", refused(404, "Robot not found"), 6, "check the names and ids"],
    [
      "an operation the service lacks",
      refused(404, "Not Found"),
      6,
      "this service does not offer to list the robots [",
    ],
    ["an existing name", refused(409, "There is a fleet cell"), 7, "There is a fleet cell"],
    ["too many requests", { ...refused(429, "slow down"), retryAfterMs: 2500 }, 6, "wait 3 s"],
    ["an unavailable service", { ...refused(503, "no store"), request_id: "r1" }, 4, "the time and request r1"],
    ["an invalid request", refused(422, "name: too long"), 6, "name: too long"],
    ["another server", { kind: "undecodable", status: 200, detail: "a web page" }, 4, "captive portal"],
  ])("showFailure: %s", (_case, failure, exitCode, expected) => {
    const { terminal, err } = open();
    expect(showFailure(failure, { credential, hasSentChange, summary, terminal })).toBe(exitCode);
    expect(err()).toContain(expected);
  });

  test("showFailure: 422 for a value with a key that the shown part cuts → no part of the key", () => {
    const { terminal, err } = open();
    const key = `sk_live_${"Secret".repeat(5)}`;
    const validation = [{ loc: ["body", "site"], msg: "too long", type: "rule" }];
    const body = { site: `${"x".repeat(40)}${key}` };
    showFailure({ ...refused(422, ""), validation }, { credential, hasSentChange, summary, terminal, body });
    expect(err()).toContain("sk_…");
    expect(err()).not.toContain("Secret");
  });

  test("showFailure: 422 → every finding by its flag, with the value and the rule", () => {
    const { terminal, err } = open();
    const finding = (loc: (string | number)[], msg: string) => ({ loc, msg, type: "rule" });
    const validation = [
      finding(["body", "peak_active_robots"], "too small"),
      finding(["body", "selection", "selector", "site"], "too long"),
      finding(["body", "robots", 1], "no such robot"),
      finding(["body", "unknown", "member"], "not allowed"),
      finding(["path", "fleet_id"], "no id"),
      finding(["body"], "not an object"),
    ];
    const body = { peak_active_robots: 0, selection: { selector: { site: "s".repeat(100) } }, robots: ["a", "b"] };
    const places = flagPlaces({
      peak: text("<number>", "", { place: "peak_active_robots" }),
      selector: text("<x>", "", { place: "selection.selector" }),
      robot: texts("<robot>", "", { place: "robots" }),
    });
    const failure = { ...refused(422, ""), validation };
    expect(showFailure(failure, { credential, hasSentChange, summary, terminal, body, places })).toBe(6);
    const lines = err()
      .split("\n")
      .filter((line) => line.startsWith("error"));
    expect(lines).toEqual([
      "error: --peak 0: too small [rule]",
      `error: --selector "${"s".repeat(58)}…: too long [rule]`,
      'error: --robot "b": no such robot [rule]',
      "error: unknown.member: not allowed [rule]",
      "error: fleet_id: no id [rule]",
      expect.stringMatching(/^error: \{"peak_active_robots":0.*…: not an object \[rule\]$/),
    ]);
  });
});

test.each([
  [["body", "model"], "the catalog has no such model", "robot-policy models list shows valid names"],
  [["body", "subject"], "no model or checkpoint has this name", "robot-policy models list shows valid names"],
  [["body", "robot"], "there is no such robot", "robot-policy robots list shows valid names"],
  [["body", "selection", "robots", 1], "no robot has this name or id", "robot-policy robots list shows valid names"],
  [["body", "robots", 1], "names a robot twice", "correct it and try again"],
  [["body", "name"], "too long", "correct it and try again"],
])("showFailure: %j %s → %s", (loc, msg, fix) => {
  const { terminal, err } = open();
  const failure = { ...refused(422, ""), validation: [{ loc, msg, type: "value_error" }] };
  showFailure(failure, { credential, hasSentChange, summary, terminal });
  expect(err()).toMatch(new RegExp(`\\n  → ${fix}\\n$`));
});

test.each([
  [404, "Not Found", true],
  [404, "status 404 with a web page (a captive portal, or a wrong address?)", true],
  [405, "Method Not Allowed", true],
  [501, "Not Implemented", true],
  [404, "Robot not found", false],
  [403, "Forbidden", false],
])("isUnknownOperation: %i %s → %s", (status, detail, isUnknown) => {
  expect(isUnknownOperation(refused(status, detail))).toBe(isUnknown);
});
