import * as fc from "fast-check";
import * as z from "zod";
import { describe, expect, it } from "vitest";

import { beyondSpec, operations } from "../../../../src/api/api.ts";
import { enrolmentApprovalSchema } from "../../../../src/api/enrolments.ts";
import { fleetCreateSchema } from "../../../../src/api/fleets.ts";
import { loginStartSchema } from "../../../../src/api/logins.ts";
import { ROBOT_LABELS_COUNT, robotSetupSchema } from "../../../../src/api/robots.ts";
import { validationErrorBodySchema } from "../../../../src/api/wire/errors.ts";
import type { Operation } from "../../../../src/api/wire/operation.ts";
import { pageQuerySchema } from "../../../../src/api/wire/pages.ts";
import { text } from "../../../../src/api/wire/text.ts";
import { type Json, parseJson } from "../../../../src/service/kernel/json/parse-json.ts";
import {
  ANSWER_CUT_BYTES,
  ANSWER_WHOLE_BYTES,
  validationAnswer,
} from "../../../../src/service/kernel/validation/answer.ts";
import { FINDINGS_MAXIMUM } from "../../../../src/service/kernel/validation/check.ts";
import { validate } from "../../../../src/service/kernel/validation/validation.ts";
import { anyCharacter } from "../../../support/any-character.ts";
import { times } from "../../../support/run/tier.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const setup = { name: "r1", robot_type_id: "t", region: "x", configuration_digest: DIGEST };

function read(text: string): Json {
  const parsed = parseJson(text);
  if (parsed.state !== "parsed") throw new Error(`not JSON: ${text}`);
  return parsed.value;
}

function findingsOf(schema: z.ZodType, text: string) {
  const validated = validate(schema, read(text), ["body"]);
  return validated.state === "valid" ? [] : validated.findings;
}

const withMember = (name: string, json: string) =>
  `${JSON.stringify(setup).slice(0, -1)},${JSON.stringify(name)}:${json}}`;

describe("validate", () => {
  it("registrations → same result as zod, so the agent never sends what the service refuses", () => {
    const scalar = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 70 }),
      fc.constantFrom(null, true, 1, 1.5, "", DIGEST, "r".repeat(64), "\0", "\ud800", "😀".repeat(65)),
    );
    const members = fc.record(
      {
        name: scalar,
        robot_type_id: scalar,
        region: scalar,
        configuration_digest: fc.oneof(fc.constant(DIGEST), scalar),
        site: scalar,
        labels: fc.oneof(scalar, fc.dictionary(fc.string({ maxLength: 5 }), scalar, { maxKeys: 4 })),
        contract: fc.oneof(scalar, fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 })),
        other: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          members,
          members.map((some) => Object.assign({}, setup, some)),
        ),
        (body) => {
          const accepted = validate(robotSetupSchema, read(JSON.stringify(body)), ["body"]).state === "valid";
          expect(accepted).toBe(robotSetupSchema.safeParse(JSON.parse(JSON.stringify(body))).success);
        },
      ),
      { numRuns: times(200, 2000) },
    );
  });

  it("valid body → the members of the schema, with defaults and types", () => {
    const selection = { robots: ["a"] };
    const body = { name: "f", subject: "s", selection, peak_active_robots: " 5.0", readiness_mode: "on_demand" };
    const windows = [{ starts_at: 4039372800, ends_at: "2098-01-02 00:00:00+02:00" }];
    expect(
      validate(fleetCreateSchema, read(JSON.stringify({ ...body, operating_windows: windows })), ["body"]),
    ).toEqual({
      state: "valid",
      value: {
        ...body,
        peak_active_robots: 5,
        selection: { robots: ["a"], membership: "snapshot" },
        operating_windows: [{ starts_at: "2098-01-01T00:00:00.000Z", ends_at: "2098-01-01T22:00:00.000Z" }],
      },
    });
  });

  it("label named __proto__ → kept, without side effects", () => {
    const validated = validate(robotSetupSchema, read(withMember("labels", '{"__proto__":"x"}')), ["body"]);
    expect(validated.state === "valid" && Object.entries(validated.value.labels ?? {})).toEqual([["__proto__", "x"]]);
    expect(Object.prototype).not.toHaveProperty("x");
  });

  it.each([
    ["an unpaired surrogate", "site", '"\\ud800"', "string_unicode", ["body", "site"]],
    ["NUL", "site", '"a\\u0000"', "value_error", ["body", "site"]],
    [
      "a label key that is too long",
      "labels",
      `{"${"k".repeat(257)}":"v"}`,
      "string_too_long",
      ["body", "labels", "k".repeat(257), "[key]"],
    ],
    [
      "an unpaired surrogate in a contract",
      "contract",
      '{"a":["\\ud800"]}',
      "string_unicode",
      ["body", "contract", "a", 0],
    ],
    ["NaN in a contract", "contract", '{"a":[1,NaN]}', "finite_number", ["body", "contract", "a", 1]],
    ["1e400 in a contract", "contract", '{"a":1e400}', "finite_number", ["body", "contract", "a"]],
  ])("%s → refused", (_what, name, json, type, loc) => {
    expect(findingsOf(robotSetupSchema, withMember(name, json))).toMatchObject([{ type, loc }]);
  });

  it("integers of a contract → exact", () => {
    const validated = validate(robotSetupSchema, read(withMember("contract", '{"a":9007199254740993}')), ["body"]);
    expect(validated).toMatchObject({ state: "valid", value: { contract: { a: 9007199254740993n } } });
  });

  it("many mistakes → findings up to the limit", () => {
    const labels = JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 1])));
    expect(findingsOf(robotSetupSchema, withMember("labels", labels))).toHaveLength(FINDINGS_MAXIMUM);
  });

  it("too many labels, some invalid → finding about their number if enough are valid", () => {
    const labels = (right: number) =>
      JSON.stringify({
        wrong: 1,
        ...Object.fromEntries(Array.from({ length: right }, (_, index) => [`k${index}`, "v"])),
      });
    const typesOf = (right: number) =>
      findingsOf(robotSetupSchema, withMember("labels", labels(right))).map(({ type }) => type);
    expect(typesOf(ROBOT_LABELS_COUNT.maximum)).toEqual(["string_type"]);
    expect(typesOf(ROBOT_LABELS_COUNT.maximum + 1)).toEqual(["too_long"]);
  });

  it.each([
    ["the last moment with a four-digit year", "9999-12-31T23:59:59.999-01:00", "9999-12-31T23:59:59.999Z"],
    ["a moment of the year 1 whose UTC is in the year 0", "0001-01-01T00:00:00+01:00", "0000-12-31T23:00:00.000Z"],
  ])("%s → sortable text", (_what, sent, value) => {
    const schema = z.object({ at: z.iso.datetime({ offset: true }) });
    expect(validate(schema, new Map([["at", sent]]), ["body"])).toEqual({ state: "valid", value: { at: value } });
  });

  it.each(["1e400", "-1e400", "NaN"])("date-time %s → refused", (number) => {
    expect(findingsOf(z.object({ at: z.iso.datetime({ offset: true }) }), `{"at":${number}}`)).toMatchObject([
      { type: "datetime_parsing", loc: ["body", "at"] },
    ]);
  });

  it.each([
    ["limit=5&limit=7", { limit: 7 }],
    ["limit=%205.0%20&cursor=a%20b&other=x", { limit: 5, cursor: "a b" }],
    ["", {}],
  ])("query %j → read, all values are text, the last of a name counts", (query, value) => {
    expect(validate(pageQuerySchema, new Map(new URLSearchParams(query)), ["query"])).toEqual({
      state: "valid",
      value,
    });
  });

  it.each([
    ["limit=abc", "int_parsing", ["query", "limit"]],
    ["limit=", "int_parsing", ["query", "limit"]],
    ["limit=0", "greater_than_equal", ["query", "limit"]],
    ["limit=1001", "less_than_equal", ["query", "limit"]],
    ["cursor=%00", "value_error", ["query", "cursor"]],
    [`cursor=${"x".repeat(257)}`, "string_too_long", ["query", "cursor"]],
  ])("query %s → refused", (query, type, loc) => {
    const validated = validate(pageQuerySchema, new Map(new URLSearchParams(query)), ["query"]);
    expect(validated).toMatchObject({ state: "invalid", findings: [{ type, loc }] });
  });

  it.each([
    ["an open tuple", z.tuple([z.string()]).rest(z.string())],
    ["a union without a discriminator", z.union([z.object({ a: z.string() }), z.unknown()])],
    ["a bigint", z.bigint()],
    ["a bound in UTF-16 units", z.string().max(5)],
    ["a format of zod", z.email()],
  ])("unsupported schema → throws instead of accepting everything: %s", (_what, schema) => {
    expect(() => validate(z.object({ a: schema }), read('{"a":"x"}'), ["body"])).toThrow("does not understand");
  });

  it.each([
    ["5", z.number().gt(5), { type: "greater_than", msg: "Input should be greater than 5", ctx: { gt: 5 } }],
    ["4", z.number().min(5), { type: "greater_than_equal", ctx: { ge: 5 } }],
    ["5", z.number().lt(5), { type: "less_than", msg: "Input should be less than 5", ctx: { lt: 5 } }],
    ["1e23", z.number().max(5), { type: "less_than_equal", ctx: { le: 5 } }],
    ["123456789012345678901234567890", z.number().max(5), { type: "less_than_equal", ctx: { le: 5 } }],
    ["7.5", z.number().multipleOf(2.5), null],
    [
      "7",
      z.number().multipleOf(2.5),
      { type: "multiple_of", msg: "Input should be a multiple of 2.5", ctx: { multiple_of: 2.5 } },
    ],
    ['"7"', z.number(), { type: "float_type", msg: "Input should be a valid number" }],
    ["true", z.number(), { type: "float_type" }],
    ["null", z.number(), { type: "float_type" }],
    ["NaN", z.number().max(5), { type: "finite_number" }],
    ["-1e400", z.number().max(5), { type: "finite_number" }],
    ["90", z.literal([0, 90]), null],
    [
      '"90"',
      z.literal([0, 90]),
      { type: "literal_error", msg: "Input should be 0 or 90", ctx: { expected: "0 or 90" } },
    ],
  ])("number %s → as in pydantic's strict mode", (json, schema, fault) => {
    expect(findingsOf(schema, json)).toMatchObject(fault === null ? [] : [{ ...fault, loc: ["body"] }]);
  });

  it.each<[string, z.ZodType, Readonly<Record<string, string | null>>]>([
    ["an integer", z.int().min(2).max(4), { 1: "greater_than_equal", 2: null, 4: null, 5: "less_than_equal" }],
    ["any integer", z.int(), { "9007199254740991": null, "9007199254740992": "less_than_equal" }],
    ["any negative integer", z.int(), { "-9007199254740991": null, "-9007199254740992": "greater_than_equal" }],
    ["a number", z.number().min(2).max(4), { 1.9: "greater_than_equal", 2: null, 4: null, 4.1: "less_than_equal" }],
    ["an open number", z.number().gt(2).lt(4), { 2: "greater_than", 2.1: null, 3.9: null, 4: "less_than" }],
    [
      "a list",
      z.array(z.int()).min(1).max(2),
      { "[]": "too_short", "[1]": null, "[1,1]": null, "[1,1,1]": "too_long" },
    ],
    ["a short text", text({ minimum: 2, maximum: 3 }), { '"😀"': "string_too_short", '"😀😀"': null }],
    ["a long text", text({ minimum: 2, maximum: 3 }), { '"😀😀😀"': null, '"😀😀😀😀"': "string_too_long" }],
  ])("%s → exactly its limits", (_what, schema, cases) => {
    const types = Object.keys(cases).map((json) => [json, findingsOf(schema, json)[0]?.type ?? null]);
    expect(types).toEqual(Object.entries(cases));
  });

  it.each([
    ["true", []],
    ['"No"', []],
    ['"maybe"', [{ type: "bool_parsing", loc: ["body", "confirm_replace"], input: "maybe" }]],
    ["[]", [{ type: "bool_type", loc: ["body", "confirm_replace"], input: [] }]],
  ])("confirm_replace %s → read or refused as a boolean", (json, findings) => {
    const approval = `{"user_code":"WXYZ-2345","confirm_replace":${json}}`;
    expect(findingsOf(enrolmentApprovalSchema, approval)).toMatchObject(findings);
  });

  it.each([
    ["[1,2]", []],
    [
      "[]",
      [
        { type: "missing", loc: ["body", 0], input: [] },
        { type: "missing", loc: ["body", 1], input: [] },
      ],
    ],
    ['["a",2]', [{ type: "float_type", loc: ["body", 0], input: "a" }]],
    ["[1,2,3]", [{ type: "too_long", loc: ["body"], ctx: { field_type: "Tuple", max_length: 2, actual_length: 3 } }]],
    ["{}", [{ type: "tuple_type", msg: "Input should be a valid tuple" }]],
  ])("tuple %s", (json, findings) => {
    expect(findingsOf(z.tuple([z.number(), z.number()]), json)).toMatchObject(findings);
  });

  it("discriminated object → checked by its kind only", () => {
    const kinds = z.union([
      z.strictObject({ kind: z.literal("a"), value: z.number() }),
      z.strictObject({ kind: z.literal("b"), value: z.string() }),
      z.record(z.string(), z.unknown()),
    ]);
    const whatIsWrong = (json: string) => findingsOf(kinds, json).map(({ type, loc }) => [type, loc.join(".")]);
    expect(whatIsWrong('{"kind":"a","value":"x"}')).toEqual([["float_type", "body.value"]]);
    expect(whatIsWrong('{"kind":"b","value":1}')).toEqual([["string_type", "body.value"]]);
    expect(whatIsWrong('{"kind":"c","value":[]}')).toEqual([]);
    expect(whatIsWrong("7")).toEqual([["dict_type", "body"]]);
  });

  it("open object → unknown members kept and checked as plain data", () => {
    const open = z.object({ place: z.looseObject({ name: z.string() }) });
    const validated = validate(open, read('{"other":1,"place":{"a":{"b":[1,null]},"name":"x","__proto__":2}}'), [
      "body",
    ]);
    expect(JSON.stringify(validated)).toBe(
      '{"state":"valid","value":{"place":{"name":"x","a":{"b":[1,null]},"__proto__":2}}}',
    );
    expect(findingsOf(open, '{"place":{"name":"x","a":[NaN]}}')).toMatchObject([
      { type: "finite_number", loc: ["body", "place", "a", 0] },
    ]);
    expect(findingsOf(open, '{"place":{"name":"x","\\ud800":1}}')).toMatchObject([{ type: "string_unicode" }]);
  });

  it("refinement → finding at its path", () => {
    const items = z.array(z.object({ name: z.string() })).superRefine((list, { addIssue }) => {
      for (const index of list.keys()) addIssue({ code: "custom", path: [index, "name"], message: "taken" });
    });
    const fault = { type: "value_error", msg: "Value error, taken" };
    expect(findingsOf(z.object({ items }), '{"items":[{"name":"a"},{"name":"b"}]}')).toMatchObject([
      { ...fault, loc: ["body", "items", 0, "name"], input: "a" },
      { ...fault, loc: ["body", "items", 1, "name"], input: "b" },
    ]);
  });

  it("every body and query of the API → supported", () => {
    for (const { request, query } of Object.values<Operation>({ ...operations, ...beyondSpec })) {
      for (const schema of [request, query]) if (schema instanceof z.ZodType) validate(schema, new Map(), ["body"]);
    }
  });
});

describe("validationAnswer", () => {
  const answerTo = (text: string) => validationAnswer(findingsOf(robotSetupSchema, text));

  it("small answer → complete inputs", () => {
    expect(JSON.parse(answerTo('{"name":5}'))).toMatchObject({
      detail: [{ loc: ["body", "name"], input: 5 }, { input: { name: 5 } }, {}, {}],
    });
  });

  it("inputs → complete up to the limit, to the byte", () => {
    const answerOfLength = (length: number) => {
      const name = { type: "x", loc: ["body"], msg: "y" };
      const empty = validationAnswer([{ ...name, input: "" }]);
      return validationAnswer([{ ...name, input: "x".repeat(length - empty.length) }]);
    };
    expect(answerOfLength(ANSWER_WHOLE_BYTES)).toHaveLength(ANSWER_WHOLE_BYTES);
    expect(answerOfLength(ANSWER_WHOLE_BYTES + 1).length).toBeLessThan(200);
  });

  it("refused secret → omitted", () => {
    const answer = validationAnswer(
      findingsOf(loginStartSchema, '{"verifier":"0123456789abcdef","callback_url":"http://127.0.0.1:9/x"}'),
    );
    expect(JSON.parse(answer)).toMatchObject({ detail: [{ type: "string_too_short", input: "[redacted]" }] });
  });

  it.each(["user_code", "poll_token", "signature", "nonce", "public_key"])(
    "%s → no input, and masked in a body that lacks another member",
    (name) => {
      const schema = z.object({ [name]: z.string(), other: z.string() });
      const refusedItself = validationAnswer(findingsOf(schema, `{"${name}":17,"other":"x"}`));
      expect(JSON.parse(refusedItself)).toEqual({
        detail: [{ type: "string_type", loc: ["body", name], msg: "Input should be a valid string" }],
      });
      const missing = validationAnswer(findingsOf(schema, '{"other":"x"}'));
      expect(JSON.parse(missing)).toEqual({
        detail: [{ type: "missing", loc: ["body", name], msg: "Field required" }],
      });
      const beside = validationAnswer(findingsOf(schema, `{"${name}":"mine"}`));
      expect(JSON.parse(beside)).toMatchObject({ detail: [{ type: "missing", input: { [name]: "[redacted]" } }] });
    },
  );

  it("truncated answer → no secret, not even a part of one", () => {
    const answer = validationAnswer(
      findingsOf(loginStartSchema, JSON.stringify({ verifier: "0123456789abcdef", callback_url: "x".repeat(9000) })),
    );
    expect(JSON.parse(answer)).toMatchObject({ detail: [{ loc: ["body", "verifier"], input: "[redacted]" }, {}] });
    for (const before of Array.from({ length: 60 }, (_, length) => "x".repeat(length))) {
      const cut = answerTo(JSON.stringify({ ...setup, site: `${before}sk_rps_0123456789abcdef${"y".repeat(9000)}` }));
      expect(cut).not.toContain("sk_rps");
    }
  });

  it("inputs beyond 8 KiB → truncated, all findings stay", () => {
    const answer = answerTo(JSON.stringify({ ...setup, name: "n".repeat(100_000), site: "s".repeat(200), labels: [] }));
    expect(Buffer.byteLength(answer)).toBeLessThan(ANSWER_WHOLE_BYTES);
    expect(
      validationErrorBodySchema.parse(JSON.parse(answer)).detail.map(({ loc, type }) => [loc.at(-1), type]),
    ).toEqual([
      ["name", "string_too_long"],
      ["site", "string_too_long"],
      ["labels", "dict_type"],
    ]);
  });

  it("body with mistakes everywhere → bounded answer", () => {
    const labels = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`${index}${"k".repeat(150)}`, index]),
    );
    expect(Buffer.byteLength(answerTo(JSON.stringify({ labels })))).toBeLessThan(FINDINGS_MAXIMUM * 320);
  });

  it("long locations → bounded answer", () => {
    const depth = 400;
    const contract = `${`{"${"n".repeat(200)}":`.repeat(depth)}[${"NaN,".repeat(FINDINGS_MAXIMUM)}NaN]${"}".repeat(depth)}`;
    const answer = answerTo(withMember("contract", contract));
    expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(ANSWER_CUT_BYTES);
    expect(validationErrorBodySchema.parse(JSON.parse(answer)).detail[0]).toMatchObject({ type: "finite_number" });
  });

  it("truncation → between characters", () => {
    const answer = answerTo(JSON.stringify({ ...setup, name: `x${"😀".repeat(5000)}` }));
    expect(JSON.parse(answer)).toMatchObject({ detail: [{ input: `x${"😀".repeat(63)}…` }] });
  });

  it.each([
    ["a key as a value", { ...setup, site: ["sk_rps_0123456789abcdef"] }],
    ["a key inside a text", { ...setup, labels: "curl -H 'Bearer sk_rps_0123456789abcdef'" }],
    ["a key as a member name", { ...setup, labels: { sk_rps_0123456789abcdef: 1 } }],
    ["a session token", { ...setup, site: ["rps_session_0123456789abcdef"] }],
    ["a secret that is not a text", { password: ["0123456789abcdef"] }],
    ["a key in an answer that is cut", { ...setup, name: `sk_rps_0123456789abcdef${"x".repeat(9000)}` }],
    ["a secret member of the enclosing object", { api_key: "sk_rps_0123456789abcdef", token: "0123456789abcdef" }],
  ])("%s → omitted", (_what, body) => {
    const answer = answerTo(JSON.stringify(body));
    expect(answer).not.toContain("0123456789abcdef");
    expect(answer).toContain("[redacted]");
  });
});
