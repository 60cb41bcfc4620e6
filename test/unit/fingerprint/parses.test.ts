import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { isParsable, parses } from "../../../src/fingerprint/parses.ts";

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
  ["a number in one bracket more", "/a.json", `${"[".repeat(1001)}1${"]".repeat(1001)}`],
  ["one tag more", "/a.xml", `${"<a>".repeat(1001)}${"</a>".repeat(1001)}`],
  ["brackets in brackets without end", "/a.json", `${"[".repeat(2_000_000)}${"]".repeat(2_000_000)}`],
  ["tags in tags without end", "/a.xml", `${"<a>".repeat(600_000)}${"</a>".repeat(600_000)}`],
  ["a robot description cut between elements", "/arm.urdf", "<robot><link></link>"],
  ["a robot description and the tail of an older, longer one", "/arm.urdf", "<robot></robot></link></robot>"],
  ["two robot descriptions", "/arm.urdf", "<robot/><robot/>"],
  ["elements that cross", "/arm.sdf", "<a><b></a></b>"],
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

describe("parses", () => {
  test.each(WHOLE)("whole: %s", (_what, path, text) => {
    expect(parses(path, Buffer.from(text))).toBe(true);
  });

  test.each(HALF)("not whole: %s", (_what, path, text) => {
    expect(parses(path, Buffer.from(text))).toBe(false);
  });
});

describe("parses: any text", () => {
  test("complete JSON → true, any prefix of an object or list → false", () => {
    const json = fc.json({ maxDepth: 4 });
    fc.assert(
      fc.property(json, fc.nat(), (text, cut) => {
        const bytes = Buffer.from(text);
        expect(parses("/a.json", bytes)).toBe(true);
        if (/^[[{]/.test(text)) expect(parses("/a.json", bytes.subarray(0, cut % bytes.byteLength))).toBe(false);
      }),
    );
  });

  test("any characters → true if and only if JSON.parse accepts them", () => {
    const scrap = fc.array(fc.constantFrom("{", "}", "[", "]", ",", ":", '"a"', "1", "-", "true", " "), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(scrap, (scraps) => {
        const text = scraps.join("");
        expect(parses("/a.json", Buffer.from(text))).toBe(isAccepted(text));
      }),
      { numRuns: 2000 },
    );
  });

  test("any prefix of YAML with an open bracket or quote → false, wherever its lines continue", () => {
    const text = "[{a: \"b\n\\\"c\", # ]}\nd: 'e''\nf'},\n[g,\nh] # i\n]";
    expect(parses("/a.yaml", Buffer.from(text))).toBe(true);
    for (let cut = 1; cut < text.length; cut += 1) {
      expect(parses("/a.yaml", Buffer.from(text.slice(0, cut)))).toBe(false);
      expect(parses("/a.yaml", Buffer.from(`x: ${text.slice(0, cut)}`))).toBe(false);
    }
  });

  test("any prefix of XML → false", () => {
    const text = '<?xml version="1.0"?><!DOCTYPE r><r a="<"><b/><!-- > --><c>x</c></r>';
    for (let cut = 0; cut < text.length; cut += 1)
      expect(parses("/a.xml", Buffer.from(text.slice(0, cut)))).toBe(false);
  });
});

function isAccepted(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("isParsable", () => {
  test.each([
    ["/a.json", 4 * 1024 * 1024, true],
    ["/a.json", 4 * 1024 * 1024 + 1, false],
    ["/a.yaml", 128 * 1024, true],
    ["/a.yml", 128 * 1024 + 1, false],
    ["/a.yml", 0, false],
    ["/a.urdf", 4 * 1024 * 1024, true],
    ["/a.rules", 10, false],
  ])("%s of %i bytes → %s", (path, sizeBytes, expected) => {
    expect(isParsable(path, sizeBytes)).toBe(expected);
  });
});
