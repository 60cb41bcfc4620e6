import { fileURLToPath } from "node:url";

import * as fc from "fast-check";
import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { operations } from "../../src/api/api.ts";
import { validationErrorBodySchema } from "../../src/api/wire/errors.ts";
import type { Operation } from "../../src/api/wire/operation.ts";
import { ANSWER_CUT_BYTES } from "../../src/service/kernel/validation/answer.ts";
import { anyCharacter } from "../support/any-character.ts";
import { times } from "../support/run/tier.ts";
import { WITHOUT_POSTGRES } from "../support/service/postgres.ts";
import { startService } from "../support/service/service.ts";
import { type NewStore, usePostgres, useSqlite } from "../support/service/stores.ts";
import { createExchange, type Exchange, type RawRequest, type RawResponse } from "./exchange.ts";
import { type Endpoint, endpoints } from "./valid-bodies.ts";

/** Number of requests to each operation, AT_ONCE in parallel. Few of them reach the store. */
const REQUESTS = { sqlite: times(200, 2000), postgres: times(75, 2000) } as const;
const AT_ONCE = 25;
const modelsFile = fileURLToPath(new URL("../../config/models.example.yaml", import.meta.url));

const refusalSchema = z.looseObject({ detail: z.string() });

/** Reads come first, because lists of thousands of keys are slow. */
const OPERATIONS = Object.values<Operation>(operations).toSorted(
  (left, right) => Number(left.method === "POST") - Number(right.method === "POST"),
);

describe("hostile requests to a service on SQLite", () => sendHostileRequests(REQUESTS.sqlite, useSqlite().withSchema));

describe.skipIf(WITHOUT_POSTGRES)("hostile requests to a service on PostgreSQL", { tags: "needs/postgres" }, () =>
  sendHostileRequests(REQUESTS.postgres, usePostgres().withSchema),
);

function sendHostileRequests(count: number, newStore: NewStore): void {
  const resources = new AsyncDisposableStack();
  let exchange: Exchange;
  beforeAll(async () => {
    const configuration = { modelsFile, rateLimit: null };
    const service = resources.use(await startService({ store: await newStore(), configuration }));
    exchange = resources.use(createExchange(service.url, service.key, AT_ONCE));
  });
  afterAll(() => resources.disposeAsync());

  it.each(OPERATIONS)("$method $path → an answer to every request, never a 5xx", async (operation) => {
    const batch = fc.array(requestTo(operation), { minLength: AT_ONCE, maxLength: AT_ONCE });
    await fc.assert(
      fc.asyncProperty(batch, async (requests) => {
        const answers = await Promise.all(requests.map((outgoing) => exchange.send(outgoing)));
        for (const answer of answers) judge(answer);
      }),
      { numRuns: count / AT_ONCE },
    );
  });
}

function judge({ status, content_type, body }: RawResponse): void {
  expect(status, body).toBeLessThan(500);
  expect(content_type).toMatch(/^application\/json\b/);
  if (status < 300) return;
  if (status !== 422) {
    expect([400, 404, 405, 409]).toContain(status);
    refusalSchema.parse(JSON.parse(body));
    return;
  }
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(ANSWER_CUT_BYTES);
  expect(validationErrorBodySchema.parse(JSON.parse(body)).detail).not.toHaveLength(0);
}

const TEXTS = ["\0", "a\0", "..", "__proto__", "pi0.5", "x".repeat(3000), "😀".repeat(65), "sk_rps_0123456789abcdef"];
const text = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 20 }), fc.constantFrom(...TEXTS));
const SEGMENTS = "% %zz %ff %c0%80 %ed%a0%80 %2F .. . ; a;b ' fleet_1 key_1 %u0000".split(" ");
const segment = fc.oneof(
  text.map((value) => encodeURIComponent(value.toWellFormed())),
  fc.constantFrom(...SEGMENTS),
);
const query = fc
  .array(fc.tuple(fc.constantFrom("limit", "cursor", "other", ""), fc.oneof(segment, fc.integer().map(String))), {
    maxLength: 3,
  })
  .map((parts) => parts.map(([name, value]) => `${name}=${value}`).join("&"));
const OTHER_TYPES = [
  "text/plain",
  "application/problem+json",
  "application/json; charset=utf-16",
  "",
  "application/x-ndjson",
];
const contentType = fc.oneof(
  { weight: 9, arbitrary: fc.constant("application/json") },
  fc.constantFrom(...OTHER_TYPES),
);

function requestTo({ method, path }: Operation): fc.Arbitrary<RawRequest> {
  const filled = segment.map((value) => path.replace(/\{\w+\}/, () => value));
  const endpoint = endpoints.find((candidate) => candidate.path === path.replace("{fleet_id}", "fleet_1"));
  return fc
    .record({
      path: filled,
      query,
      contentType,
      body: endpoint === undefined ? bytes : fc.oneof(bytes, bodies(endpoint)),
    })
    .map(({ path: target, query: search, contentType: type, body }) => ({
      method,
      path: search === "" ? target : `${target}?${search}`,
      headers: { "content-type": type },
      body: method === "POST" ? body : null,
    }));
}

/** Valid bodies, bodies with another value in one member, and both with bytes cut or changed. */
function bodies({ body: valid, members }: Endpoint): fc.Arbitrary<Buffer> {
  const wrong = fc
    .tuple(valid, fc.constantFrom(...members), fc.jsonValue({ maxDepth: 2 }))
    .map(([body, member, value]) => Object.assign({}, body, { [member]: value }));
  const whole = fc.oneof<fc.Arbitrary<unknown>[]>(valid, wrong).map((body) => Buffer.from(JSON.stringify(body)));
  const damaged = fc.tuple(whole, fc.nat(400), fc.nat(255), fc.boolean()).map(([body, at, byte, isCut]) => {
    if (isCut) return body.subarray(0, at);
    const copy = Buffer.from(body);
    if (at < copy.byteLength) copy[at] = byte;
    return copy;
  });
  return fc.oneof({ weight: 2, arbitrary: whole }, damaged);
}

const deep = ["[".repeat(600), '{"a":'.repeat(600)];
const BODIES = ["", "null", "{", ...deep, "\ufeff{}", "NaN", "1e400", `{"a":${"9".repeat(5000)}}`];
const bytes = fc.oneof(
  fc.json().map((json) => Buffer.from(json)),
  fc.uint8Array({ maxLength: 40 }).map((values) => Buffer.from(values)),
  fc.constantFrom(...BODIES).map((value) => Buffer.from(value)),
);
