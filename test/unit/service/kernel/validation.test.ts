import * as fc from "fast-check";
import * as z from "zod";
import { describe, expect, it } from "vitest";

import { beyondSpec, operations } from "../../../../src/api/api.ts";
import { deploymentCreateSchema } from "../../../../src/api/deployments.ts";
import { fleetCreateSchema } from "../../../../src/api/fleets.ts";
import { apiKeyCreateSchema } from "../../../../src/api/keys.ts";
import { loginStartSchema } from "../../../../src/api/logins.ts";
import { robotSetupSchema } from "../../../../src/api/robots.ts";
import { validationErrorBodySchema } from "../../../../src/api/wire/errors.ts";
import type { Operation } from "../../../../src/api/wire/operation.ts";
import { pageQuerySchema } from "../../../../src/api/wire/pages.ts";
import { type Json, parseJson } from "../../../../src/service/kernel/json/json.ts";
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

const emoji = (length: number) => "😀".repeat(length);
const labels = (count: number, length = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, emoji(length)]));
const withLabels = (members: object) => ({ ...setup, labels: members });
const fleet = { name: "f", subject: "s", peak_active_robots: 1, readiness_mode: "on_demand" };
const withSelector = (selector: object) => ({ ...fleet, selection: { selector } });
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
    const body = { ...fleet, selection, peak_active_robots: " 5.0" };
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

  it.each<[string, z.ZodType, (length: number) => object, maximum: number]>([
    ["name", robotSetupSchema, (length) => ({ ...setup, name: emoji(length) }), 64],
    ["region", robotSetupSchema, (length) => ({ ...setup, region: emoji(length) }), 256],
    ["key of a label", robotSetupSchema, (length) => withLabels({ [emoji(length)]: "v" }), 256],
    ["value of a label", robotSetupSchema, (length) => withLabels({ k: emoji(length) }), 1024],
    ["number of labels", robotSetupSchema, (length) => withLabels(labels(length)), 256],
    ["all labels", robotSetupSchema, (length) => withLabels({ ...labels(15, 1024), k: emoji(length) }), 988],
    ["model of a deployment", deploymentCreateSchema, (length) => ({ model: emoji(length), robot: "r" }), 256],
    ["robot of a deployment", deploymentCreateSchema, (length) => ({ model: "m", robot: emoji(length) }), 256],
    ["type of a selector", fleetCreateSchema, (length) => withSelector({ robot_type_id: emoji(length) }), 256],
    ["region of a selector", fleetCreateSchema, (length) => withSelector({ region: emoji(length) }), 256],
    ["label of a key", apiKeyCreateSchema, (length) => ({ label: emoji(length) }), 256],
  ])("%s: a bound that no golden answer has", (_what, schema, body, maximum) => {
    expect(findingsOf(schema, JSON.stringify(body(maximum)))).toEqual([]);
    expect(findingsOf(schema, JSON.stringify(body(maximum + 1)))).toHaveLength(1);
    // Clients check with zod before they send.
    expect([maximum, maximum + 1].map((size) => schema.safeParse(body(size)).success)).toEqual([true, false]);
  });

  it("integers of a contract → exact", () => {
    const validated = validate(robotSetupSchema, read(withMember("contract", '{"a":9007199254740993}')), ["body"]);
    expect(validated).toMatchObject({ state: "valid", value: { contract: { a: 9007199254740993n } } });
  });

  it("many mistakes → findings up to the limit", () => {
    const labels = JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 1])));
    expect(findingsOf(robotSetupSchema, withMember("labels", labels))).toHaveLength(FINDINGS_MAXIMUM);
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
    ["an open tuple", z.tuple([z.string()]).rest(z.string())],
    ["a union without a discriminator", z.union([z.object({ a: z.string() }), z.unknown()])],
    ["a bigint", z.bigint()],
    ["a bound in UTF-16 units", z.string().max(5)],
    ["a format of zod", z.email()],
  ])("unsupported schema → throws instead of accepting everything: %s", (_what, schema) => {
    expect(() => validate(z.object({ a: schema }), read('{"a":"x"}'), ["body"])).toThrow("does not understand");
  });

  it.each<[json: string, z.ZodType, { readonly type: string; readonly msg?: string; readonly ctx?: object } | null]>([
    ["5", z.number().gt(5), { type: "greater_than", msg: "Input should be greater than 5", ctx: { gt: 5 } }],
    ["5.1", z.number().gt(5), null],
    ["4.9", z.number().min(5), { type: "greater_than_equal", ctx: { ge: 5 } }],
    ["5", z.number().min(5).max(5), null],
    ["5", z.number().lt(5), { type: "less_than", msg: "Input should be less than 5", ctx: { lt: 5 } }],
    ["4.9", z.number().lt(5), null],
    ["123456789012345678901234567890", z.number().max(5), { type: "less_than_equal", ctx: { le: 5 } }],
    ["7.5", z.number().multipleOf(2.5), null],
    ["7", z.number().multipleOf(2.5), { type: "multiple_of", msg: "Input should be a multiple of 2.5" }],
    ['"7"', z.number(), { type: "float_type", msg: "Input should be a valid number" }],
    ["true", z.number(), { type: "float_type" }],
    ["NaN", z.number().max(5), { type: "finite_number" }],
    ["-1e400", z.number().max(5), { type: "finite_number" }],
    ["90", z.literal([0, 90]), null],
    ['"90"', z.literal([0, 90]), { type: "literal_error", msg: "Input should be 0 or 90" }],
    ["9007199254740991", z.int(), null],
    ["9007199254740992", z.int(), { type: "less_than_equal" }],
    ["-9007199254740992", z.int(), { type: "greater_than_equal" }],
    ['"maybe"', z.boolean(), { type: "bool_parsing" }],
    ['"No"', z.boolean(), null],
  ])("%s → as pydantic reads it", (json, schema, fault) => {
    expect(findingsOf(schema, json)).toMatchObject(fault === null ? [] : [{ ...fault, loc: ["body"] }]);
  });

  it.each([
    ["[1,2]", []],
    ["[1]", [{ type: "missing", loc: ["body", 1], input: [1] }]],
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

  it("body with a secret anywhere → bounded answer without it", () => {
    const token = fc.string({ unit: fc.constantFrom(..."0123456789abcdefXYZ"), minLength: 22, maxLength: 22 });
    const key = fc.tuple(fc.constantFrom("sk_rps_", "sk_live_", "rps_session_"), token).map((parts) => parts.join(""));
    const member = fc.constantFrom(...Object.keys(robotSetupSchema.shape), "other");
    const beside = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(key, member, fc.nat(3), fc.nat(3000), beside, (secret, name, place, filling, other) => {
        const values = [secret, [`Bearer ${secret}`], { [secret]: 1 }, { deep: [{ secret }] }];
        const answer = answerTo(JSON.stringify({ [name]: values[place], beside: [other, "x".repeat(filling)] }));
        expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(ANSWER_CUT_BYTES);
        expect(answer).not.toContain(secret.slice(-22));
      }),
      { numRuns: times(200, 2000) },
    );
  });

  it.each([
    ["a secret that is not a text", { password: ["0123456789abcdef"] }],
    ["a secret member of the enclosing object", { api_key: "sk_rps_0123456789abcdef", token: "0123456789abcdef" }],
  ])("%s → omitted", (_what, body) => {
    const answer = answerTo(JSON.stringify(body));
    expect(answer).not.toContain("0123456789abcdef");
    expect(answer).toContain("[redacted]");
  });
});
