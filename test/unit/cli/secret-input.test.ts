import { PassThrough } from "node:stream";

import { describe, expect, test } from "vitest";

import { readSecret } from "../../../src/cli/secret-input.ts";

const LIMIT_LENGTH = 8;

/** Reads what is typed at a terminal, or piped, and then everything is over. */
function read(chunks: readonly string[], { isTTY = false, signal = new AbortController().signal } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: (isRaw: boolean) => raw.push(isRaw) });
  const raw: boolean[] = [];
  let shown = "";
  let interrupts = 0;
  const stderr = { write: (text: string) => void (shown += text) };
  const secret = readSecret({ stdin, stderr, interrupt: () => (interrupts += 1), signal }, "Key: ", LIMIT_LENGTH);
  for (const chunk of chunks) stdin.write(chunk);
  if (!isTTY) stdin.end();
  return secret.then((value) => ({ value, raw, shown, interrupts }));
}

describe("readSecret", () => {
  test("pipe → all of it, without a prompt", async () => {
    expect(await read(["sk_", "1\n2"])).toMatchObject({ value: "sk_1\n2", shown: "", raw: [] });
  });

  test.each([
    ["of the longest length", "x".repeat(LIMIT_LENGTH), "x".repeat(LIMIT_LENGTH)],
    ["longer than that", "x".repeat(LIMIT_LENGTH + 1), "too-large"],
  ])("pipe %s → %s", async (_what, piped, value) => {
    expect((await read([piped])).value).toBe(value);
  });

  test("terminal → the line, without echo, in raw mode until it ends", async () => {
    const typed = ["s", "k", "_", "x", "\b", "1", "\r"];
    expect(await read(typed, { isTTY: true })).toEqual({
      value: "sk_1",
      raw: [true, false],
      shown: "Key: \n",
      interrupts: 0,
    });
  });

  test.each([
    ["longer than the limit", ["x".repeat(LIMIT_LENGTH + 1)], "too-large"],
    ["Ctrl-D on an empty line", ["\u0004"], null],
    ["Ctrl-D after some characters", ["ab\u0004"], "ab"],
  ])("terminal: %s → %s", async (_what, typed, value) => {
    expect((await read(typed, { isTTY: true })).value).toBe(value);
  });

  test("terminal: Ctrl-C → interrupts, and the signal ends the reading", async () => {
    const controller = new AbortController();
    const reading = read(["a\u0003"], { isTTY: true, signal: controller.signal });
    controller.abort();
    expect(await reading).toMatchObject({ value: null, raw: [true, false] });
  });
});
