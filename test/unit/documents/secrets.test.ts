import { describe, expect, test } from "vitest";

import { findSecret } from "../../../src/documents/secrets.ts";

const KEY = "sk_live_0123456789abcdefXYZ";

describe("findSecret", () => {
  test.each([
    [`x: 1\ny: "${KEY}"\n`, 9, "a key"],
    [`# old: ${KEY}\n`, 7, "a key"],
    ["-----BEGIN OPENSSH PRIVATE KEY-----\n", 0, "a key"],
    ["camera: rtsp://admin:hunter2@10.0.0.4/1\n", 12, "an address with a user or password"],
    ['{"user":"a","password":"b"}', 13, "the value of password"],
    ['{\n  "wifiPassword" : "b"\n}', 5, "the value of wifiPassword"],
    ["mqtt:\n  api-key: 1234\n", 8, "the value of api-key"],
    ["- token: abc\n", 2, "the value of token"],
    ["[mqtt]\npassword = hunter2\n", 7, "the value of password"],
    ["password: |\n  hunter2\n", 0, "the value of password"],
    ["password:\n\n  # of the hall\n  hunter2\n", 0, "the value of password"],
    ["credentials:\n- a\n", 0, "the value of credentials"],
    ['{"token": null, "secret": {"a": 1}}', 17, "the value of secret"],
    ["password: '' \ntoken = b", 14, "the value of token"],
  ])("%j → offset %i, %s", (text, offset, what) => {
    expect(findSecret(text)).toEqual({ offset, what });
  });

  test.each([
    "",
    "shoulder_pan: {homing_offset: 1024}\n",
    '{"password": "", "token": null, "use_token": true}',
    "password:\nuser: a\n",
    "- password:\n- user: b\n",
    "password = ; none\ntoken =\n",
    "password: ~ # none\r\nuser: a\r\n",
    "tokenizer: gemma\n",
    "the password is not here\n",
    '{"url":"https://example.com","mail":"a@example.com"}',
    "password:",
  ])("%j → nothing", (text) => {
    expect(findSecret(text)).toBeUndefined();
  });

  test.each([
    ["names without end", "a".repeat(262_144)],
    ["names of secrets without value", "password:\n".repeat(26_214)],
    ["blank lines", `password:${"\n".repeat(262_000)}`],
    ["addresses", "://a".repeat(65_536)],
    ["numbers", "1: 2, ".repeat(43_690)],
  ])("256 KiB of %s → searched before the test's time is up", (_what, text) => {
    expect(findSecret(text)).toBeUndefined();
  });
});
