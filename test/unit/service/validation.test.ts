import * as fc from "fast-check";
import * as z from "zod";
import { describe, expect, it } from "vitest";

import { validationErrorBodySchema } from "../../../src/api/errors.ts";
import { fleetCreateSchema } from "../../../src/api/fleets.ts";
import { robotSetupSchema } from "../../../src/api/robots.ts";
import type { Json } from "../../../src/service/json/parse-json.ts";
import { parseJson } from "../../../src/service/json/parse-json.ts";
import { ANSWER_WHOLE_BYTES, validationAnswer } from "../../../src/service/validation/answer.ts";
import { FINDINGS_MAXIMUM, validate } from "../../../src/service/validation/validation.ts";

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
  it("agrees with zod about registrations: the agent never sends what the service refuses", () => {
    const scalar = fc.oneof(
      fc.string({ unit: "binary", maxLength: 70 }),
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
      { numRuns: 2000 },
    );
  });

  it("hands on what the schema names, with its defaults and in its types", () => {
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

  it("keeps a label called __proto__, and changes nothing else by it", () => {
    const validated = validate(robotSetupSchema, read(withMember("labels", '{"__proto__":"x"}')), ["body"]);
    expect(validated.state === "valid" && Object.entries(validated.value.labels ?? {})).toEqual([["__proto__", "x"]]);
    expect(Object.prototype).not.toHaveProperty("x");
  });

  it.each([
    ["an unpaired surrogate", "site", '"\\ud800"', "string_unicode", ["body", "site"]],
    ["NUL", "site", '"a\\u0000"', "value_error", ["body", "site"]],
    [
      "a label key too long",
      "labels",
      `{"${"k".repeat(257)}":"v"}`,
      "string_too_long",
      ["body", "labels", "k".repeat(257), "[key]"],
    ],
    ["NaN in a contract", "contract", '{"a":[1,NaN]}', "finite_number", ["body", "contract", "a", 1]],
    ["1e400 in a contract", "contract", '{"a":1e400}', "finite_number", ["body", "contract", "a"]],
  ])("refuses %s", (_what, name, json, type, loc) => {
    expect(findingsOf(robotSetupSchema, withMember(name, json))).toMatchObject([{ type, loc }]);
  });

  it("keeps exact integers of a contract", () => {
    const validated = validate(robotSetupSchema, read(withMember("contract", '{"a":9007199254740993}')), ["body"]);
    expect(validated).toMatchObject({ state: "valid", value: { contract: { a: 9007199254740993n } } });
  });

  it("stops collecting at its bound", () => {
    const labels = JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 1])));
    expect(findingsOf(robotSetupSchema, withMember("labels", labels))).toHaveLength(FINDINGS_MAXIMUM);
  });

  it("refuses a schema it does not understand when it meets it, not by accepting everything", () => {
    expect(() => validate(z.object({ a: z.tuple([z.string()]) }), read('{"a":[1]}'), ["body"])).toThrow(
      "does not understand",
    );
  });
});

describe("validationAnswer", () => {
  const answerTo = (text: string) => validationAnswer(findingsOf(robotSetupSchema, text));

  it("repeats inputs whole as long as the answer is small", () => {
    expect(JSON.parse(answerTo('{"name":5}'))).toMatchObject({
      detail: [{ loc: ["body", "name"], input: 5 }, { input: { name: 5 } }, {}, {}],
    });
  });

  it("cuts inputs beyond 8 KiB, and still says what is wrong where", () => {
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

  it("bounds an answer to a body that is wrong everywhere", () => {
    const labels = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`${index}${"k".repeat(150)}`, index]),
    );
    expect(Buffer.byteLength(answerTo(JSON.stringify({ labels })))).toBeLessThan(FINDINGS_MAXIMUM * 320);
  });

  it.each([
    ["a key as a value", { ...setup, site: ["sk_rps_0123456789abcdef"] }],
    ["a key inside a text", { ...setup, labels: "curl -H 'Bearer sk_rps_0123456789abcdef'" }],
    ["a key as a member name", { ...setup, labels: { sk_rps_0123456789abcdef: 1 } }],
    ["a secret member of the enclosing object", { api_key: "sk_rps_0123456789abcdef", token: "0123456789abcdef" }],
  ])("leaves out %s", (_what, body) => {
    const answer = answerTo(JSON.stringify(body));
    expect(answer).not.toContain("0123456789abcdef");
    expect(answer).toContain("[redacted]");
  });
});
