import { PassThrough } from "node:stream";

import { describe, expect, test } from "vitest";

import { readSecret } from "../../../src/cli/questions.ts";

const LIMIT_LENGTH = 8;

/** Reads what is typed at a terminal. */
async function read(typed: string, signal = new AbortController().signal) {
  const raw: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => raw.push(isRaw) });
  const stderr = Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY: true });
  let interrupts = 0;
  const secret = readSecret({ stdin, stderr, interrupt: () => (interrupts += 1), signal }, "Key: ", LIMIT_LENGTH);
  stdin.write(typed);
  const value = await secret;
  return { value, raw, shown: stderr.read(), interrupts };
}

describe("readSecret", () => {
  test("the line, without echo, in raw mode until it ends", async () => {
    const ended = { raw: [true, false], shown: "Key: \n", interrupts: 0 };
    expect(await read("sk_x\b1\r")).toEqual({ value: "sk_1", ...ended });
  });

  test.each([
    ["of the longest length", `${"x".repeat(LIMIT_LENGTH)}\r`, "x".repeat(LIMIT_LENGTH)],
    ["longer than that", `${"x".repeat(LIMIT_LENGTH + 1)}\r`, "too-large"],
    ["Ctrl-D on an empty line", "\u0004", null],
  ])("%s → %s", async (_what, typed, value) => {
    expect((await read(typed)).value).toBe(value);
  });

  test("Ctrl-C → interrupts, and the signal ends the reading", async () => {
    const controller = new AbortController();
    const reading = read("a\u0003", controller.signal);
    await new Promise(setImmediate);
    controller.abort();
    expect(await reading).toMatchObject({ value: null, raw: [true, false], interrupts: 1 });
  });
});
