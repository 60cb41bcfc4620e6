import { describe, expect, it } from "vitest";

import { decodeJson } from "../../../../src/service/kernel/json/decode-json.ts";

const TEXT = '{"label":"é😀"}';

function utf16(text: string, isBigEndian: boolean): Buffer {
  const bytes = Buffer.from(text, "utf16le");
  return isBigEndian ? bytes.swap16() : bytes;
}

function utf32(text: string, isBigEndian: boolean): Buffer {
  const bytes = Buffer.alloc([...text].length * 4);
  [...text].forEach((character, index) => {
    const codePoint = character.codePointAt(0) ?? 0;
    if (isBigEndian) bytes.writeUInt32BE(codePoint, index * 4);
    else bytes.writeUInt32LE(codePoint, index * 4);
  });
  return bytes;
}

describe("decodeJson", () => {
  for (const mark of ["", "\ufeff"]) {
    it.each([
      ["UTF-8", Buffer.from(mark + TEXT)],
      ["UTF-16, little-endian", utf16(mark + TEXT, false)],
      ["UTF-16, big-endian", utf16(mark + TEXT, true)],
      ["UTF-32, little-endian", utf32(mark + TEXT, false)],
      ["UTF-32, big-endian", utf32(mark + TEXT, true)],
    ])(`reads %s with${mark === "" ? "out" : ""} a byte order mark`, (_encoding, bytes) => {
      expect(decodeJson(bytes)).toBe(TEXT);
    });
  }

  it.each([
    ["one character of UTF-16, little-endian", utf16("5", false), "5"],
    ["one character of UTF-16, big-endian", utf16("5", true), "5"],
    ["one byte", Buffer.from("5"), "5"],
    ["nothing", Buffer.alloc(0), ""],
    ["part of a larger buffer", utf32("xx[]", false).subarray(8), "[]"],
  ])("%s → read", (_what, bytes, text) => {
    expect(decodeJson(bytes)).toBe(text);
  });

  it.each([
    ["invalid UTF-8", [0x22, 0xff, 0x22]],
    ["a surrogate in UTF-8", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["an unpaired surrogate in UTF-16", [0x22, 0, 0x00, 0xd8, 0x22, 0]],
    ["a truncated UTF-32 character", [0x5b, 0, 0, 0, 0x5d, 0]],
    ["a UTF-32 value beyond Unicode", [0x5b, 0, 0, 0, 0, 0, 0x11, 0]],
    ["a surrogate in UTF-32", [0x5b, 0, 0, 0, 0, 0xd8, 0, 0]],
  ])("%s → refused", (_what, bytes) => {
    expect(decodeJson(Uint8Array.from(bytes))).toBeNull();
  });
});
