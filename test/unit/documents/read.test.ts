import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

import { readConfiguration as readAgentConfiguration } from "../../../src/agent/configuration/configuration.ts";
import { readSettings } from "../../../src/documents/read.ts";
import {
  formed,
  integer,
  jsonSchema,
  number,
  OF_MAPPING,
  orNull,
  refuse,
  rightMembers,
  text,
  uniqueBy,
  uniqueTexts,
} from "../../../src/documents/schemas.ts";
import { readManifest } from "../../../src/manifest/manifest.ts";
import {
  configurationSchema as serviceSchema,
  readConfiguration as readServiceConfiguration,
} from "../../../src/service/configuration/configuration.ts";
import { readCatalog } from "../../../src/service/models/catalog.ts";
import { defaultsOf } from "../../support/documents/defaults.ts";

const word = formed("word_format", (written) => (written === "bad" ? "bad is bad" : undefined));
const SCHEMA = z.object({
  title: orNull(text(8)),
  mode: z.enum(["fast", "slow"]).default("slow"),
  turn: z.literal([0, 90]).default(0),
  count: integer({ minimum: 1, maximum: 9 }).optional(),
  rate: number({ above: 0, maximum: 10 }, "; write 10").optional(),
  on: z.boolean().default(false),
  words: uniqueTexts({ minimum: 0, maximum: 4 }, word).optional(),
  items: uniqueBy("name", { minimum: 1, maximum: 2 }, z.object({ name: word })).optional(),
  either: z
    .union([number({ minimum: 0, maximum: 1 }), z.array(z.number()), z.object({ all: z.boolean() })], {
      error: () => "a number, a list or {all}",
    })
    .optional(),
  tags: z.record(z.string(), z.string()).optional(),
  span: z
    .object({ from: z.number(), to: z.number() })
    .superRefine((written, ctx) => {
      const { from, to } = rightMembers(written, ctx);
      if (from === undefined || to === undefined || from <= to) return;
      refuse(ctx, { id: "order", message: "from is above to", path: ["from"] });
    }, OF_MAPPING)
    .optional(),
});

function read(yaml: string) {
  const rules = { subject: "catalog", sizeLimitBytes: 1000, secretAdvice: "", hints: new Map([["old", "write new"]]) };
  return readSettings(Buffer.from(yaml), { ...rules, subject: "catalog" }, SCHEMA);
}

/** `line:column id message` of each finding. */
function findingsOf(yaml: string): readonly string[] {
  return read(yaml).findings.map(({ line, column, id, message }) => `${line}:${column} ${id} ${message}`);
}

describe("readSettings", () => {
  test.each([
    ["title: 7", "1:8 wrong_type expected a text, found a number; write it in quotes"],
    ["title: no text can be", "1:8 text_format expected 1 to 8 printable characters"],
    ["title:", "1:1 wrong_type expected a text, found nothing"],
    ["title: ~", "1:8 wrong_type expected a text, found null"],
    ["mode: [fast]", "1:7 wrong_type expected a text, found a list"],
    ["mode: fats", "1:7 not_allowed fats is not one of fast, slow; did you mean fast?"],
    ["turn: 45", "1:7 not_allowed 45 is not one of 0, 90"],
    ["turn: left", "1:7 wrong_type expected a number, found a text"],
    ["count: '7'", "1:8 wrong_type expected a number, found a text; write it without quotes"],
    ["count: 1.5", "1:8 wrong_type expected a whole number, found a number with a fraction"],
    ["count: 10", "1:8 out_of_range 10 is outside the range: 1 to 9"],
    ["count: 1e20", "1:8 out_of_range 1e20 is outside the range: 1 to 9"],
    ["count: 0x1", "1:8 number_format write 0x1 as a plain decimal number"],
    ["rate: 0", "1:7 out_of_range 0 is outside the range: above 0, up to 10"],
    ["rate: .inf", "1:7 not_finite .inf is not a finite number; write 10"],
    ["rate: 1e999", "1:7 not_finite 1e999 is not a finite number; write 10"],
    ["on: yes", "1:5 wrong_type expected true or false, found a text"],
    ["words: a", "1:8 wrong_type expected a list, found a text"],
    ["words: {a: b}", "1:8 wrong_type expected a list, found a mapping"],
    [
      "words: [a, bad, bad, a]",
      "1:12 word_format bad is bad",
      "1:17 word_format bad is bad",
      "1:22 duplicate_name a is already used",
    ],
    ["words: [a, b, c, d, e]", "1:8 list_length expected at most 4 items, found 5"],
    ["items: []", "1:8 list_length expected 1 to 2 items, found 0"],
    [
      "items:\n- name: a\n- {nam: a, name: a}",
      "3:4 unknown_key unknown key nam; did you mean name?",
      "3:18 duplicate_name a is already used",
    ],
    ["items: [{}]", "1:9 missing name is required"],
    ["either: a", "1:9 wrong_type expected a number, a list or {all}, found a text"],
    ["either: 2", "1:9 out_of_range 2 is outside the range: 0 to 1"],
    ["either: +1", "1:9 number_format write +1 as a plain decimal number"],
    ["either: [a]", "1:10 wrong_type expected a number, found a text"],
    [
      "either: {all: 1, al: 2}",
      "1:15 wrong_type expected true or false, found a number",
      "1:18 unknown_key unknown key al; did you mean all?",
    ],
    ["span: {from: 2, to: 1}", "1:14 order from is above to"],
    ["span: {from: {}, to: 1}", "1:14 wrong_type expected a number, found a mapping"],
    [
      "tags: {a: 1, x-b: 2}",
      "1:11 wrong_type expected a text, found a number; write it in quotes",
      "1:19 wrong_type expected a text, found a number; write it in quotes",
    ],
    ["tags: {__proto__: a}", "1:8 not_allowed __proto__ cannot be a name here"],
    ["old: 1", "1:1 unknown_key unknown key old; write new"],
    ["mode: TODO", "1:7 placeholder replace the placeholder TODO"],
    ["x-note: {mode: TODO, a: [1]}"],
    [
      "zz: {mode: TODO}",
      "1:1 unknown_key unknown key zz; known here: title, mode, turn, count, rate, on, words, items, either, tags, span",
    ],
    [
      "a: 1\nmode: fats",
      "1:1 unknown_key unknown key a; known here: title, mode, turn, count, rate, on, words, items, either, tags, span",
      "2:7 not_allowed fats is not one of fast, slow; did you mean fast?",
    ],
    ["- a", "1:1 wrong_type expected a mapping, found a list"],
    [
      "'x': 1 # y",
      "1:1 unknown_key unknown key x; known here: title, mode, turn, count, rate, on, words, items, either, tags, span",
    ],
  ])("readSettings: %j → %j", (yaml, ...findings) => {
    expect(findingsOf(yaml)).toEqual(findings);
  });

  test.each([
    ["as a value", "title: sk_acme_0123456789abcdef"],
    ["as the name of a key", "api_token: 0123456789abcdef"],
    ["in a note", "x-note: [{a: sk_acme_0123456789abcdef}]"],
    ["as a key of a note", "x-note: {password: 0123456789abcdef}"],
    ["below a value of another type", "title: {a: sk_acme_0123456789abcdef}"],
    ["below an unknown key", "zz: {wifi.password: 0123456789abcdef}"],
    ["as a name of one's own", "tags: {token: 0123456789abcdef}"],
    ["in a comment", "title: a # sk_acme_0123456789abcdef"],
  ])("readSettings: secret %s → a finding that does not repeat it", (_, yaml) => {
    const { findings, value } = read(yaml);
    expect(findings.map(({ id }) => id)).toContain("secret_in_catalog");
    expect(JSON.stringify(findings)).not.toContain("0123456789abcdef");
    expect(value).toBeNull();
  });

  test("readSettings: what is not written → its default", () => {
    expect(read("x-a: 1").value).toEqual({ title: null, mode: "slow", turn: 0, on: false });
  });

  test("jsonSchema: keys of one's own, and no others", () => {
    const validator = z.fromJSONSchema(jsonSchema(SCHEMA, "t", "d"));
    const isValid = (yaml: string) => validator.safeParse(parse(yaml)).success;
    expect(["x-a: 1", "mode: fast", "zz: 1", "items: [{nam: a}]", "count: 10"].map(isValid)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("every document", () => {
  const sourceOf = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
  const switchedOn = (text: string) => text.replaceAll(/^( *)# ?( *[a-z_]+:(?: .*)?)$/gm, "$1$2");
  test.each([
    [
      "agent",
      switchedOn(sourceOf("config/config.example.yaml")),
      (bytes: Uint8Array) => readAgentConfiguration(bytes, "/a"),
    ],
    [
      "service",
      JSON.stringify({
        ...defaultsOf(serviceSchema()),
        ...parse(switchedOn(sourceOf("config/service.example.yaml"))),
      }),
      readServiceConfiguration,
    ],
    ["models", sourceOf("config/models.example.yaml"), readCatalog],
    [
      "manifest",
      sourceOf("test/golden/robot-manifest/examples/so101-full.yaml"),
      (bytes: Uint8Array) => readManifest(bytes),
    ],
  ])("%s: any value replaced by one of any type → read or refused", async (_, text, readBytes) => {
    const document: unknown = parse(text, { uniqueKeys: false });
    for (const replaced of variants(document)) {
      const { findings } = await readBytes(Buffer.from(JSON.stringify(replaced)));
      for (const { message } of findings) expect(message).not.toContain("undefined");
    }
  });
});

/** The document with each of its values in turn replaced. */
function* variants(value: unknown): Generator {
  yield* [null, -1, "x", [], { a: 1 }];
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) for (const other of variants(item)) yield value.with(index, other);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      for (const other of variants(member)) yield { ...value, [key]: other };
    }
  }
}
