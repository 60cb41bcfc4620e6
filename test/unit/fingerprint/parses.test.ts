import { describe, expect, test } from "vitest";

import { isParsable, parses } from "../../../src/fingerprint/parses.ts";

const WHOLE: readonly (readonly [what: string, path: string, text: string])[] = [
  ["JSON", "/a.json", '{"a": 1}\n'],
  ["JSON with a byte order mark", "/a.JSON", '\uFEFF{"a": 1}'],
  ["JSON that is a number", "/a.json", "1"],
  ["YAML", "/a.yaml", "a: 1\nb: [1, 2]\n"],
  ["YAML with a byte order mark", "/a.yml", "\uFEFFa: 1\n"],
  ["YAML of several documents", "/a.yaml", "a: 1\n---\n- b\n...\n---\nc\n"],
  ["ROS parameters with tags and substitutions", "/a.yaml", "/**:\n  ros__parameters:\n    p: !ros $(find pkg)/x\n"],
  ["an OpenCV calibration", "/a.yml", "%YAML:1.0\n---\nm: !!opencv-matrix\n   rows: 1\n   data: [ 1., 2. ]\n"],
  ["YAML with anchors, merges and an open alias", "/a.yaml", "a: &x {b: 1}\nc: {<<: *x}\nd: *gone\n"],
  ["YAML with a repeated key", "/a.yaml", "a: 1\na: 2\n"],
  ["YAML that is a comment", "/a.yaml", "# nothing yet\n"],
  ["any other text", "/a.ini", "{"],
  ["a name that only ends like one", "/json", "{"],
];

const HALF: readonly (readonly [what: string, path: string, text: string | Uint8Array])[] = [
  ["the first half of JSON", "/a.json", '{"a": [1, 2'],
  ["JSON and the tail of an older, longer JSON", "/a.json", '{"a": 1}}'],
  ["blanks instead of JSON", "/a.json", "  \n"],
  ["JSON with comments", "/a.json", '{"a": 1} // yes'],
  ["half a character", "/a.json", Buffer.from('"ä"').subarray(0, 2)],
  ["half a character in YAML", "/a.yaml", Buffer.from("a: ä").subarray(0, 4)],
  ["YAML cut in a quoted text", "/a.yaml", 'a: "on'],
  ["YAML cut in a list", "/a.yml", "a: [1, 2"],
  ["YAML with an error in its second document", "/a.yaml", "a: 1\n---\na: {b\n"],
  ["zeros after a power cut", "/a.yaml", "\0\0\0\0"],
];

describe("parses", () => {
  test.each(WHOLE)("whole: %s", async (_what, path, text) => {
    expect(await parses(path, Buffer.from(text))).toBe(true);
  });

  test.each(HALF)("not whole: %s", async (_what, path, text) => {
    expect(await parses(path, Buffer.from(text))).toBe(false);
  });
});

describe("isParsable", () => {
  test.each([
    ["/a.json", 4 * 1024 * 1024, true],
    ["/a.json", 4 * 1024 * 1024 + 1, false],
    ["/a.yaml", 128 * 1024, true],
    ["/a.yml", 128 * 1024 + 1, false],
    ["/a.yml", 0, false],
    ["/a.urdf", 10, false],
  ])("%s of %i bytes → %s", (path, size_bytes, expected) => {
    expect(isParsable(path, size_bytes)).toBe(expected);
  });
});
