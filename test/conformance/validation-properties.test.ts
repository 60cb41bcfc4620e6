import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { validationErrorBodySchema } from "../../src/api/wire/errors.ts";
import { readBody } from "../../src/service/kernel/http/body.ts";
import { ANSWER_CUT_BYTES, ANSWER_WHOLE_BYTES } from "../../src/service/kernel/validation/answer.ts";
import { times } from "../support/run/tier.ts";
import { answerOf, requestSchemaAt } from "./answer-of.ts";
import { at, type Endpoint, endpoints, type JsonBody, type JsonValue, type Mistake, plant } from "./planted.ts";

const RUNS = times(200, 2000);
const json = fc.jsonValue({ maxDepth: 3 });

describe.each(endpoints)("POST $path", (endpoint) => {
  const schema = requestSchemaAt(endpoint.path);
  const answerTo = (body: unknown) => answerOf(schema, readBody("application/json", Buffer.from(JSON.stringify(body))));

  it("valid body → accepted", () => {
    fc.assert(
      fc.property(endpoint.body, (body) => {
        expect(answerTo(body)).toEqual({ status: 200, json: "{}" });
      }),
      { numRuns: RUNS },
    );
  });

  it("body with mistakes → exactly these findings, in the order of the contract", () => {
    fc.assert(
      fc.property(bodyWithMistakes(endpoint), ({ body, mistakes }) => {
        const wrong = mistakes.reduce<JsonValue>(
          (sent, { path, sent: value }) => plant(sent, path, value) ?? null,
          body,
        );
        const { status, json: answer } = answerTo(wrong);
        expect(status, answer).toBe(422);
        const expected = findings(endpoint, wrong, mistakes);
        const isWhole = Buffer.byteLength(JSON.stringify({ detail: expected })) <= ANSWER_WHOLE_BYTES;
        expect(JSON.parse(answer)).toEqual({
          detail: isWhole
            ? expected
            : expected.map(({ type, loc, msg }) => expect.objectContaining({ type, loc, msg })),
        });
      }),
      { numRuns: RUNS },
    );
  });

  it("any body → each finding points to the value that was sent", () => {
    const shaped = fc.dictionary(fc.oneof(fc.constantFrom(...endpoint.members), fc.string()), json);
    fc.assert(
      fc.property(fc.oneof({ weight: 4, arbitrary: shaped }, json), (body) => {
        const { status, json: answer } = answerTo(body);
        if (status === 200) return;
        expect(status).toBe(422);
        const { detail } = validationErrorBodySchema.parse(JSON.parse(answer));
        const sent: unknown = JSON.parse(JSON.stringify(body));
        for (const { type, loc, input } of detail) {
          const isName = loc.at(-1) === "[key]";
          const path = loc.slice(1, isName || type === "missing" ? -1 : undefined);
          if (input !== undefined) expect(input).toEqual(isName ? path.at(-1) : at(sent, path));
        }
      }),
      { numRuns: RUNS },
    );
  });

  it("any body → a bounded answer without secrets", () => {
    const token = fc.string({ unit: fc.constantFrom(..."0123456789abcdefXYZ"), minLength: 22, maxLength: 22 });
    const key = fc.tuple(fc.constantFrom("sk_rps_", "sk_live_", "rps_session_"), token).map((parts) => parts.join(""));
    const carrier = fc
      .tuple(key, fc.constantFrom(...endpoint.members, "other"), fc.nat(3), fc.nat(3000), json)
      .map(([secret, member, place, filling, beside]): readonly [string, unknown] => {
        const values = [secret, [`Bearer ${secret}`], { [secret]: 1 }, { deep: [{ secret }] }];
        return [secret, { [member]: values[place] ?? null, beside: [beside, "x".repeat(filling)] }];
      });
    fc.assert(
      fc.property(carrier, ([secret, body]) => {
        const { json: answer } = answerTo(body);
        expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(ANSWER_CUT_BYTES);
        expect(answer).not.toContain(secret.slice(-22));
      }),
      { numRuns: RUNS },
    );
  });
});

/** Up to three mistakes, each in a different member, so that none hides another. */
function bodyWithMistakes(endpoint: Endpoint): fc.Arbitrary<{ body: JsonBody; mistakes: Mistake[] }> {
  return endpoint.body.chain((body) =>
    fc
      .uniqueArray(endpoint.mistakes(body), { selector: ({ path }) => path[0], minLength: 1, maxLength: 3 })
      .map((mistakes) => ({ body, mistakes })),
  );
}

/** The expected findings: declared members first, then unknown ones in the order of the body. */
function findings({ members }: Endpoint, wrong: JsonValue, mistakes: readonly Mistake[]) {
  const sentOrder = Object.keys(wrong ?? {});
  const rank = ({ path: [member] }: Mistake): number => {
    const declared = members.indexOf(String(member));
    return declared === -1 ? members.length + sentOrder.indexOf(String(member)) : declared;
  };
  return mistakes
    .toSorted((left, right) => rank(left) - rank(right))
    .map(({ path, sent, complaint: { type, msg, ctx } }) => ({
      type,
      loc: ["body", ...path],
      msg,
      input: sent === undefined ? at(wrong, path.slice(0, -1)) : sent,
      ctx,
    }));
}
