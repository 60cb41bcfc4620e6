import { open, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";

import { readElf } from "../../../src/installer/elf.ts";

const partsOf = (bytes: Uint8Array) => async (position: number, length_bytes: number) =>
  bytes.subarray(position, position + length_bytes);

describe("readElf", () => {
  test("of this Node: the loader and the libraries that it has loaded", async () => {
    await using file = await open(process.execPath);
    const elf = await readElf(async (position, length) => {
      const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    });
    const { sharedObjects } = process.report.getReport() as unknown as { readonly sharedObjects: readonly string[] };
    const loaded = sharedObjects.map((path) => basename(path));
    expect(loaded).toEqual(expect.arrayContaining([...(elf?.libraries ?? [])]));
    expect(elf?.libraries).toContain("libc.so.6");
    expect(loaded).toContain(basename(elf?.loader ?? ""));
    expect(elf?.architecture).toBe({ x64: "x86-64", arm64: "arm64" }[process.arch as "x64"]);
  });

  test.each([
    ["nothing", new Uint8Array()],
    ["a script", Buffer.from("#!/bin/sh\n".repeat(20))],
    ["a big-endian program", Buffer.concat([Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 2, 1]), Buffer.alloc(100)])],
  ])("%s is no program for a robot", async (_what, bytes) => {
    expect(await readElf(partsOf(bytes))).toBeNull();
  });

  test("a program that is cut off or scrambled anywhere is bounded work and no exception", async () => {
    const whole = (await readFile("/bin/true")).subarray(0, 20_000);
    for (let length = 0; length < 2048; length += 16) await readElf(partsOf(whole.subarray(0, length)));
    for (let at = 16; at < 1024; at += 1) {
      const scrambled = Buffer.from(whole);
      scrambled.fill(0xff, at, at + 8);
      await readElf(partsOf(scrambled));
    }
  });
});
