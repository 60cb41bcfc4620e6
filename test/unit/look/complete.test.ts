import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { PATIENCE_MS } from "../../support/run/patience.ts";
import { isCheckable, isComplete } from "../../../src/look/complete.ts";

const WHOLE: readonly (readonly [what: string, path: string, text: string | Uint8Array])[] = [
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
  ["a YAML list that continues at column 1", "/a.yaml", "joints: [a,\r\nb, c]\r\n"],
  ["a YAML list that ends left of its key", "/a.yaml", "x:\n  joints: [  # don't\n    a, # ]\n]\ny: it's [1\n"],
  ["a YAML map that continues at column 1", "/a.yaml", "--- !t {a: 'it''s',\nb: [x]\n}\n"],
  ["a YAML text that continues at column 1", "/a.yaml", "s: \"one\ntwo \\\" three\"\nt: 'a\nb'\nu: don't\n"],
  ["JSON with every kind of value", "/a.json", ' {"a\\"": [-1.5e+3, true, false, null, {}, []], "ü": "}"} \n'],
  ["JSON as Python writes it", "/a.json", '{"min": -Infinity, "max": Infinity, "offset": [NaN, -1]}'],
  [
    "a robot description",
    "/arm.urdf",
    '\uFEFF<?xml version="1.0"?>\n<!-- <a> -->\n<robot name="a>b"><link/>\n</robot>\n<!-- end -->\n',
  ],
  [
    "macros of one",
    "/arm.xacro",
    '<robot xmlns:xacro="http://ros.org/x">${2 > 1}<xacro:if value="$(arg a)" ></xacro:if></robot >',
  ],
  [
    "XML with its own declarations",
    "/a.xml",
    '<!DOCTYPE a [ <!-- don\'t --> <!ENTITY b "c>"> ] ><a>&b;<![CDATA[</b>]]></a>',
  ],
  ["XML with a document type", "/a.sdf", '<!DOCTYPE a SYSTEM "a.dtd"><a></a>'],
  ["XML in Latin-1", "/a.xml", Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>\xE4</a>', "latin1")],
  ["XML in UTF-16", "/a.xml", Buffer.from("\uFEFF<a>", "utf16le")],
  ["a number in a thousand brackets", "/a.json", `${"[".repeat(1000)}1${"]".repeat(1000)}`],
  ["tags in a thousand tags", "/a.xml", `${"<a>".repeat(1000)}${"</a>".repeat(1000)}`],
  ["any other text", "/a.ini", "{"],
  ["XML of one tag", "/a.sdf", "<a b='c'/><!-- end -->\n"],
  ["XML whose tags cross or are too many within", "/a.xml", "<a><b></a></b></a></a>"],
  ["a name that only ends like one", "/json", "{"],
];

const HALF: readonly (readonly [what: string, path: string, text: string | Uint8Array])[] = [
  ["the first half of JSON", "/a.json", '{"a": [1, 2'],
  ["JSON and the tail of an older, longer JSON", "/a.json", '{"a": 1}}'],
  ["blanks instead of JSON", "/a.json", "  \n"],
  ["JSON with comments", "/a.json", '{"a": 1} // yes'],
  ["JSON with a comma too many", "/a.json", "[1, ]"],
  ["JSON with a comma too few", "/a.json", "[1 2]"],
  ["JSON with a value in place of a key", "/a.json", "{1: 2}"],
  ["JSON with brackets that cross", "/a.json", '{"a": [1}]'],
  ["JSON with half a word", "/a.json", "[tru]"],
  ["JSON with half a number", "/a.json", "[1.]"],
  ["JSON with half of infinity", "/a.json", "[-Inf]"],
  ["JSON with a line break in a text", "/a.json", '"a\nb"'],
  ["two JSON texts", "/a.json", "{}{}"],
  ["a robot description cut between elements", "/arm.urdf", "<robot><link></link>"],
  ["two robot descriptions", "/arm.urdf", "<robot/><robot/>"],
  ["text in place of XML", "/a.xml", "nothing yet"],
  ["a comment in place of XML", "/a.launch", "<!-- nothing yet -->"],
  ["XML cut in a tag", "/a.srdf", '<a b="'],
  ["XML cut in a comment", "/a.mjcf", "<a><!-- "],
  ["XML cut in a document type", "/a.xml", "<!DOCTYPE a [ <!ENTITY b 'c'>"],
  ["half a character", "/a.json", Buffer.from('"ä"').subarray(0, 2)],
  ["half a character in YAML", "/a.yaml", Buffer.from("a: ä").subarray(0, 4)],
  ["YAML cut in a quoted text", "/a.yaml", 'a: "on'],
  ["YAML cut in a list", "/a.yml", "a: [1, 2"],
  ["YAML cut in a line", "/a.yaml", "a: [1,\n2]\nb"],
  ["YAML with a bracket too many", "/a.yaml", "a: [1,\n2]]\n"],
  ["YAML with an error in its second document", "/a.yaml", "a: 1\n---\na: {b\n"],
  ["zeros after a power cut", "/a.yaml", "\0\0\0\0"],
];

test.each(WHOLE)("isComplete: %s (%s) → true", (_what, path, text) => {
  expect(isComplete(path, Buffer.from(text))).toBe(true);
});

test.each(HALF)("isComplete: %s (%s) → false", (_what, path, text) => {
  expect(isComplete(path, Buffer.from(text))).toBe(false);
});

describe("isComplete: any text", () => {
  test("complete JSON → true, any prefix of an object or list → false", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.nat(), (text, cut) => {
        const bytes = Buffer.from(text);
        expect(isComplete("/a.json", bytes)).toBe(true);
        if (/^[[{]/.test(text)) expect(isComplete("/a.json", bytes.subarray(0, cut % bytes.byteLength))).toBe(false);
      }),
    );
  });

  test("any prefix of YAML with an open bracket or quote → false, wherever its lines continue", () => {
    const text = "[{a: \"b\n\\\"c\", # ]}\nd: 'e''\nf'},\n[g,\nh] # i\n]";
    expect(isComplete("/a.yaml", Buffer.from(text))).toBe(true);
    for (let cut = 1; cut < text.length; cut += 1) {
      expect(isComplete("/a.yaml", Buffer.from(text.slice(0, cut)))).toBe(false);
      expect(isComplete("/a.yaml", Buffer.from(`x: ${text.slice(0, cut)}`))).toBe(false);
    }
  });

  test("any prefix of XML → false", () => {
    const text = '<?xml version="1.0"?><!DOCTYPE r><r a="<"><b/><!-- > --><c>x</c></r>';
    for (let cut = 0; cut < text.length; cut += 1)
      expect(isComplete("/a.xml", Buffer.from(text.slice(0, cut)))).toBe(false);
  });
});

/** Patterns that make parsers slow, as a whole file of them. */
const HOSTILE: readonly (readonly [path: string, limitBytes: number, patterns: readonly string[]])[] = [
  ["/a.json", 512 * 1024, ["[", '{"a":', '"', '\\"', '"\\"', "-", "NaN,", "[NaN,", "1", " "]],
  ["/a.yaml", 128 * 1024, ["[", "]", '\\"', "&a ", "a #"]],
  ["/a.xml", 4 * 1024 * 1024, ["<", "<!--", "<!---->", "-->", "<?", "<!", "<a>", "<a ", " ", "<a/><!-- --> "]],
];

test.each(HOSTILE)(
  "isComplete: hostile %s of %i bytes → takes time in proportion to the size",
  (path, limitBytes, patterns) => {
    for (const pattern of patterns) {
      const bytes = Buffer.from(pattern.repeat(Math.floor(limitBytes / pattern.length)));
      const startedMs = performance.now();
      isComplete(path, bytes);
      // YAML takes up to 3 s on a busy machine, what is quadratic minutes.
      expect(performance.now() - startedMs, pattern).toBeLessThan(PATIENCE_MS / 3);
    }
  },
);

test.each([
  ["/a.json", 512 * 1024, true],
  ["/a.json", 512 * 1024 + 1, false],
  ["/a.yaml", 128 * 1024, true],
  ["/a.yml", 128 * 1024 + 1, false],
  ["/a.yml", 0, true],
  ["/a.URDF", 4 * 1024 * 1024, true],
  ["/a.urdf", 4 * 1024 * 1024 + 1, false],
  ["/a.rules", 10, false],
])("isCheckable: %s of %i bytes → %s", (path, sizeBytes, expected) => {
  expect(isCheckable(path, sizeBytes)).toBe(expected);
});
