import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";

import type { Finding } from "../../../src/documents/findings.ts";
import { openDocument, TOKEN_LIMIT } from "../../../src/documents/yaml.ts";
import { execute } from "../../support/programs/execute.ts";
import { atPresentSpeed } from "../../support/run/processor.ts";
import { isLong, times } from "../../support/run/tier.ts";

describe("openDocument", () => {
  test.each([
    ["nothing", "", null],
    ["only comments", "# a\n  # b\n", null],
    ["a plain text over lines", "a: b\n  c\n\n  d\n", { a: "b c\nd" }],
    ["a list at its key's indentation", "a:\n- b\n- c\nd: e\n", { a: ["b", "c"], d: "e" }],
    ["compact collections", "- - a\n  - b\n- c: d\n  e: f\n", [["a", "b"], { c: "d", e: "f" }]],
    ["empty values", "a:\nb: ~\nc: []\n", { a: null, b: null, c: [] }],
    ["a bracket closed under its key", "a: [\n  b,\n  c\n]\n", { a: ["b", "c"] }],
    ["JSON", '{"a":[1,2.5,{"b":"c"}],"d":null}', { a: [1, 2.5, { b: "c" }], d: null }],
    ["a pair inside brackets", "[a: b, c]", [{ a: "b" }, "c"]],
    [
      "double quotes",
      String.raw`"a\tb\u00e9\U0001F9BE\x41 \
      c"`,
      "a\tbé🦾A c",
    ],
    ["single quotes", "'it''s\n\n  so'", "it's\nso"],
    ["a literal text", "a: |\n  b\n   c\n\n  d\n\ne: f\n", { a: "b\n c\n\nd\n", e: "f" }],
    ["a folded text", "a: >-\n  b\n  c\n\n  d\n   e\n  f\n", { a: "b c\nd\n e\nf" }],
    ["kept and stripped line ends", "- |+\n a\n\n- |-\n b\n\n", ["a\n\n", "b"]],
    ["an explicit indentation", "a: |2\n   b\n  c\n", { a: " b\nc\n" }],
    ["an explicit key", "? a\n: b\n? c\n", { a: "b", c: null }],
    ["colons and hashes inside words", "a: b:c#d\nurl: http://x/#y\n", { a: "b:c#d", url: "http://x/#y" }],
    ["markers around the document", "---\na: b\n...\n", { a: "b" }],
    ["CRLF", "a: b\r\nc:\r\n  - d\r\n", { a: "b", c: ["d"] }],
    ["a byte order mark", "\uFEFFa: b\n", { a: "b" }],
  ])("openDocument: %s", (_, text, value) => {
    expect(plainValue(text)).toEqual(value);
  });

  test.each([
    ["a tab as indentation", "a:\n  b: c\n\td: e\n", 10, "Tabs are not allowed as indentation"],
    ["a tab before a key", "a: 'b'\n\tc: d\n", 7, "Tabs are not allowed as indentation"],
    [
      "a key of more than 1024 characters",
      `${"k".repeat(1025)}: 1\n`,
      0,
      /^The : indicator must be at most 1024 chars/,
    ],
    ["a quote that does not end", 'a: "b\n  c\n', 10, 'Missing closing "quote'],
    ["a quoted text that runs into the next key", 'a: "b\nc: d"\n', 5, 'Missing closing "quote'],
    ["a colon in a plain text", "a: b: c\n", 3, "Nested mappings are not allowed in compact mappings"],
    ["a key indented under a text", "a: b\n  c: d\n", 3, "Nested mappings are not allowed in compact mappings"],
    ["a neighbour indented further", "a: 'b'\n  c: d\n", 7, "All mapping items must start at the same column"],
    ["a bracket that is not closed", "a: [b, c\nd: e\n", 9, /^Flow sequence .* end with a \]$/],
    ["an empty place between commas", "[a,,b]", 3, "Unexpected , in flow sequence"],
    ["a key without a colon", "a: b\nc\n", 5, "Implicit map keys need to be followed by map values"],
    ["text after a quoted value", "a: 'b' c\n", 7, "Unexpected scalar at node end"],
    ["a list item among keys", "a: b\n- c\n", 5, "Implicit keys need to be on a single line"],
    ["an unknown escape", String.raw`"\q"`, 1, String.raw`Invalid escape sequence \q`],
    ["a reserved character", "a: @b\n", 3, "Plain value cannot start with reserved character @"],
    ["a secret after a block indicator", "a: |hunter2\n", 4, "Block scalar header includes extra characters"],
    ["a control character", "a: \u0001\n", 3, "a control character (U+0001)"],
    ["a carriage return alone", "a: b\rc: d\n", 4, "a control character (U+000D)"],
    ["a tag with a handle that nothing declares", "a: !b!c d\n", 3, "Could not resolve tag"],
    ["a tag that does not end", "a: !<b\n", 3, "Verbatim tags must end with a >"],
  ])("openDocument: %s → syntax error with its place", (_, text, offset, message) => {
    const [finding] = findingsOf(text);
    const before = text.slice(0, offset).split("\n");
    expect(finding).toMatchObject({ id: "yaml_syntax", line: before.length, column: (before.at(-1) ?? "").length + 1 });
    expect(finding?.message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
  });

  test.each([
    ["two documents", "a: b\n---\nc: d\n", 2],
    ["after an end marker", "a: b\n...\nc: d\n", 3],
    ["three documents", "a: b\n---\nc: d\n---\ne: f\n", 2],
    ["two empty documents", "---\n---\n", 2],
  ])("openDocument: %s → second document, at its first line", (_, text, line) => {
    expect(placesOf(text)).toEqual([`${line}:1 yaml_documents `]);
  });

  test("openDocument: forbidden constructs → findings at their values and keys", () => {
    expect(findingsOf("%YAML 1.2\n---\na: &x [*x, !t b]\n<<: c\n? [d]\n: e\n").map(wordsOf)).toEqual([
      "1:1 a directive is not allowed in a manifest",
      "3:7 an anchor is not allowed in a manifest",
      "3:8 an alias is not allowed in a manifest",
      "3:15 a tag is not allowed in a manifest",
      "4:1 a merge key is not allowed in a manifest",
      "5:3 a key that is not a scalar is not allowed in a manifest",
    ]);
    expect(placesOf("%YAML 1.2\n")).toEqual(["1:1 yaml_forbidden "]);
    // A byte order mark has no width, and a character beyond the basic plane that of one.
    expect(placesOf("\uFEFFa: &b 1\n🦾: &c 2\n")).toEqual(["1:7 yaml_forbidden /a", "2:7 yaml_forbidden /🦾"]);
  });

  test.each(["!!omap [b: 1]", "!!pairs [b: 1]", "!!set {b}", "!!merge <<", "!!timestamp 2001-01-01", "!!binary YQ=="])(
    "openDocument: %s → a tag, and not what it stands for",
    (text) => {
      expect(findingsOf(`a: ${text}\n`).map(({ message }) => message)).toEqual(["a tag is not allowed in a manifest"]);
    },
  );

  test.each([
    ["null", null, ["", "~", "null", "NULL"]],
    ["true", true, ["true", "TRUE"]],
    ["a number of JSON", 1, ["1", "1.0", "10e-1"]],
    ["a number in another notation", Number.NaN, ["+1", ".5", "5.", "010", "0o17", "0x1F", ".inf", "-.INF", ".nan"]],
  ])("openDocument: %s of the core schema", (_, value, texts) => {
    for (const text of texts) expect([text, plainValue(`- ${text}\n`)]).toEqual([text, [value]]);
    for (const text of texts) expect(plainValue(`- "${text}"\n`)).toEqual([text]);
  });

  test.each(["no", "on", "yes", "1_000", "10:40", "0b1", "-0x1", "1e", "nUll", "2024-01-01", "=", "-.nan"])(
    "openDocument: %s → a text",
    (text) => expect(plainValue(`- ${text}\n`)).toEqual([text]),
  );

  test("openDocument: many empty lines → accepted, a few are kept at the end of a text", () => {
    expect(plainValue(`a: b${"\n".repeat(TOKEN_LIMIT)}`)).toEqual({ a: "b" });
    expect(plainValue("a: |+\n  b\n\n\n")).toEqual({ a: "b\n\n\n" });
  });

  test("openDocument: many tokens → refused", () => {
    expect(placesOf("- a\n".repeat(TOKEN_LIMIT))).toEqual(["1:1 too_large "]);
  });
});

describe("openDocument: JSON", () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 5 }, tie("text"), tie("list"), tie("map")),
    text: fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 40 }),
      fc.constantFrom("a\n b\n\nc", " x", "x ", "- a", "a: b", "#", "null", "\n\n"),
    ),
    list: fc.array(tie("any"), { maxLength: 4 }),
    map: fc.dictionary(fc.string({ maxLength: 12 }), tie("any"), { maxKeys: 4, noNullPrototype: true }),
  })).any;

  test("openDocument: JSON texts, lists and mappings → read", () => {
    fc.assert(
      fc.property(value, fc.integer({ min: 0, max: 6 }), (data, indentation) => {
        const text = JSON.stringify(data, null, indentation);
        expect([text, plainValue(text)]).toEqual([text, data]);
      }),
      { numRuns: times(300, 3000) },
    );
  });
});

// Quadratic algorithms exceed both limits by far.
describe(`hostile texts of ${times(512, 1024)} KiB`, () => {
  const SIZE = times(512, 1024) * 1024;
  /** The keys of every custom manifest, followed by groups. */
  const custom =
    '"robot_type_id: a.b.v1\\ntopology: single_arm\\naction_semantics: joint_position\\ncontrol_rate_hz: 20\\n' +
    'cameras: [{role: a, mount: head, width: 640, height: 480, fps: 30}]\\ngroups:\\n"';
  const elements = `Array.from({length:64},(_,i)=>"e".repeat(60)+i)`;
  /** Expressions that create a text of `n` characters. */
  const texts: Readonly<Record<string, string>> = {
    "open brackets": `"[".repeat(n)`,
    "balanced brackets": `"[".repeat(n/2)+"]".repeat(n/2)`,
    dashes: `"- ".repeat(n/2)`,
    "question marks": `"? ".repeat(n/2)`,
    "nested mappings": `"{a: ".repeat(n/4)`,
    "empty pairs": `"["+":,".repeat(n/2-1)+"]"`,
    "flow items": `"["+"a,".repeat(n/2-1)+"]"`,
    "list items": `"- a\\n".repeat(n/4)`,
    "merge keys": `"{"+"<<,".repeat(n/3-1)+"}"`,
    aliases: `"["+"*a,".repeat(n/3-1)+"]"`,
    anchors: `"["+"&a ,".repeat(n/4-1)+"]"`,
    "duplicate keys": `"a: 1\\n".repeat(n/5)`,
    "many keys": `Array.from({length:42000},(_,i)=>"x".repeat(15)+i+": 1\\n").join("")`,
    escapes: `'"'+"\\\\n".repeat(n/2-1)+'"'`,
    "folded lines": `"a: "+"x\\n ".repeat(n/3-1)`,
    "blank lines of a literal": `"a: |\\n"+"\\n".repeat(n-6)`,
    "blank lines": `"\\n".repeat(n)`,
    comments: `"#\\n".repeat(n/2)`,
    documents: `"a\\n--- ".repeat(n/6)`,
    directives: `"%a\\n".repeat(n/3)`,
    spaces: `"a"+" ".repeat(n-2)+"b"`,
    secrets: `"["+"sk_a_0123456789abcdef,".repeat(n/22-1)+"]"`,
    "almost secrets": `"a: '"+" sk_aaaaaaa".repeat(n/11-1)+"'"`,
    "one long word": `"a".repeat(n)`,
    "groups of elements with limits": `${custom}+Array.from({length:32},(_,i)=>"  - {name: g"+i+", kind: arm, elements: ["+${elements}+"], unit: rad, zero: urdf, state: [position, velocity], limits: {position: ["+"[-1.5, 1.123456789012345e0],".repeat(64)+"], velocity: ["+"1.123456789012345,".repeat(64)+"]}}\\n").join("").padEnd(n-400)`,
    "limits that are wrong": `${custom}+Array.from({length:32},(_,i)=>"  - {name: g"+i+", kind: hand, elements: ["+${elements}+"], unit: ratio, limits: {position: ["+"[5, -5],".repeat(64)+"]}}\\n").join("").padEnd(n-400)`,
    "duplicate names": `${custom}+"  - {name: a, elements: ["+("a".repeat(60)+",").repeat(n/61-100)+"]}"`,
    "names that are none": `${custom}+"  - {name: a, elements: ["+("A".repeat(21)+",").repeat(n/22-100)+"]}"`,
    "words that are no quantities": `${custom}+"  - {name: a, state: ["+("positionnnnnnnnnnnnnn"+",").repeat(n/22-100)+"]}"`,
    placeholders: `${custom}+"  - {name: a, elements: ["+"replace_aaaaaaaaaaaaaaa,".repeat(n/24-100)+"]}"`,
    "groups without kind": `${custom}+"  - {name: gggggggggggggg, knid: arm, x-y: []}\\n".repeat(12000)`,
    speeds: `${custom}+"  - {name: a, limits: {velocity: ["+"1.1234567890123456789,".repeat(n/22-100)+"]}}"`,
    "deep keys of one's own": `${custom}+("  - {name: a, x-a: "+"[".repeat(28)+"sk_a_0123456789abcdef"+"]".repeat(28)+"}\\n").repeat(1600).padEnd(n-400)`,
    // The parser composes them in quadratic time: three minutes for a megabyte.
    "marks on a letter": `"robot_type_id: a.b.v1\\ndisplay_name: 'a"+"\\u0f73".repeat(n/3-20)+"'"`,
  };

  /** One process reads all texts. The long tier, and any text that seems too slow, measures each in its own process. */
  let together: Readonly<Record<string, Measured>> = {};
  beforeAll(async () => {
    if (!isLong) together = await measure(texts, SIZE);
  });

  test.each(Object.keys(texts))("readManifest: %s: under 200 ms and 100 MB", async (name) => {
    let measured = together[name];
    let limitMs = 200;
    // Again, because other programs use the same cores.
    for (let again = 0; again < 3 && !isBounded(measured, limitMs); again += 1) {
      measured = (await measure({ [name]: texts[name] ?? "" }, SIZE))[name];
      limitMs = atPresentSpeed(200);
    }
    expect(measured).toSatisfy(() => isBounded(measured, limitMs), `below ${limitMs} ms and 100 MB`);
  });
});

interface Measured {
  readonly duration_ms: number;
  readonly growth_mb: number;
}

function isBounded(measured: Measured | undefined, limitMs: number): boolean {
  return measured !== undefined && measured.duration_ms < limitMs && measured.growth_mb < 100;
}

/** Reads texts one after another in a fresh process. */
async function measure(
  texts: Readonly<Record<string, string>>,
  size: number,
): Promise<Readonly<Record<string, Measured>>> {
  const expressions = Object.entries(texts).map(([name, expression]) => `${JSON.stringify(name)}: () => ${expression}`);
  const room = new URL("../../../src/manifest/", import.meta.url).href;
  const script = `
    const { readManifest } = await import("${room}manifest.ts");
    const { READY_CATALOG } = await import("${room}catalog/ids.ts");
    const n = ${size};
    // Excludes code that a bundle has compiled already.
    await readManifest(Buffer.from("groups: 0"));
    const measured = {};
    for (const [name, textOf] of Object.entries({ ${expressions.join(", ")} })) {
      const bytes = Buffer.from(textOf());
      const before_kb = process.resourceUsage().maxRSS;
      // CPU time, which equals the duration on an idle machine: reading is single-threaded and never waits.
      const start = process.threadCpuUsage();
      await readManifest(bytes);
      const { user, system } = process.threadCpuUsage(start);
      measured[name] = {
        duration_ms: (user + system) / 1000,
        growth_mb: (process.resourceUsage().maxRSS - before_kb) / 1000,
      };
    }
    console.log(JSON.stringify(measured));
  `;
  const { stdout } = await execute([process.execPath, "--input-type=module", "-e", script]);
  return JSON.parse(stdout) as Readonly<Record<string, Measured>>;
}

function open(text: string) {
  return openDocument(Buffer.from(text), { subject: "manifest", sizeLimitBytes: 1_048_576 });
}

/** With plain objects, to compare. */
function plainValue(text: string): unknown {
  const opening = open(text);
  return opening.kind === "document" ? withPrototypes(opening.document.root.value) : opening;
}

function withPrototypes(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withPrototypes);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withPrototypes(each)]));
}

function findingsOf(text: string): readonly Finding[] {
  const opening = open(text);
  return opening.kind === "refused" ? opening.findings : [];
}

function placesOf(text: string): readonly string[] {
  return findingsOf(text).map(({ line, column, id, loc }) => `${line}:${column} ${id} ${loc}`);
}

function wordsOf({ line, column, message }: Finding): string {
  return `${line}:${column} ${message}`;
}
