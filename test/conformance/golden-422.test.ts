import { readFileSync } from "node:fs";
import { request } from "node:http";

import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { operations } from "../../src/api/api.ts";
import { readBody } from "../../src/service/http/body.ts";
import { refuseInvalid, refuseUnreadable } from "../../src/service/http/answers.ts";
import type { Answer } from "../../src/service/http/answers.ts";
import { validate } from "../../src/service/validation/validation.ts";
import type { RunningService } from "../support/service.ts";
import { startService } from "../support/service.ts";

const vectorSchema = z.object({
  id: z.string(),
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  body_base64: z.string().nullish(),
  soft: z.boolean().optional(),
  why: z.string().optional(),
  expect: z.object({
    status: z.union([z.int(), z.literal("2xx")]),
    body: z.unknown().optional(),
    types: z.array(z.string()).optional(),
  }),
});
type Vector = z.output<typeof vectorSchema>;

const detailSchema = z.object({ detail: z.array(z.looseObject({ type: z.string() })) });

const vectors = readFileSync(new URL("../golden/golden-422/vectors.jsonl", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => vectorSchema.parse(JSON.parse(line)));

const SETUP = "/v1/robots/setup";

/** Soft answers that differ on purpose; each is this service's own decision. */
const DECIDED_OTHERWISE: ReadonlyMap<string, string> = new Map([
  ["accept-fleet/peak-over-1000000000000000000000000000000", "integers have a bound"],
  ["accept-datetime/naive-start-only--2098-01-01t00-00-00", "a time zone is required"],
  ["accept-datetime/naive--2098-01-01-00-00", "a time zone is required"],
  ["accept-datetime/naive-start-only--2098-01-01", "a time zone is required"],
  ["accept-datetime/naive-start-only--2098-01-01t00-00-00.5", "a time zone is required"],
]);

describe("golden answers for POST /v1/robots/setup, over HTTP", () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  for (const [index, vector] of vectors.filter(({ path }) => path === SETUP).entries()) {
    it(vector.id, async () => judge(vector, await send(service, vector, fill(bodyOf(vector), index))));
  }
});

describe("golden answers for the other operations, by the validation alone", () => {
  const OPERATIONS = new Map<string, z.ZodType>([
    ["/v1/fleets", operations.createFleet.request],
    ["/v1/me/api-keys", operations.createApiKey.request],
    ["/v1/me/deployments", operations.createDeployment.request],
  ]);

  for (const vector of vectors.filter(({ path, id }) => path !== SETUP && !DECIDED_OTHERWISE.has(id))) {
    it(vector.id, () => {
      const { status, json } = answerOf(OPERATIONS.get(vector.path) ?? operations.updateFleetModel.request, vector);
      judge(vector, { status, body: json });
    });
  }

  it("validate: a soft vector decided otherwise is refused, not accepted by accident", () => {
    const decided = vectors.filter(({ id }) => DECIDED_OTHERWISE.has(id));
    expect(decided.map(({ soft }) => soft)).toEqual(decided.map(() => true));
    expect(decided.map((vector) => answerOf(operations.createFleet.request, vector).status)).toEqual(
      decided.map(() => 422),
    );
  });
});

interface Answered {
  readonly status: number;
  readonly body: string;
}

function judge({ expect: wanted }: Vector, answered: Answered): void {
  if (wanted.status === "2xx") expect(answered.status).toBeOneOf([200, 201]);
  else expect(answered.status, answered.body.slice(0, 500)).toBe(wanted.status);
  if (wanted.types !== undefined) {
    expect(detailSchema.parse(JSON.parse(answered.body)).detail.map(({ type }) => type)).toEqual(wanted.types);
  }
  if (wanted.body !== undefined) expect(normalized(JSON.parse(answered.body))).toStrictEqual(normalized(wanted.body));
}

/** -0 and 0 are one number in JSON. */
function normalized(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function answerOf(schema: z.ZodType, vector: Vector): Answer {
  const body = readBody(vector.headers["content-type"], fill(bodyOf(vector), 0) ?? undefined);
  if (body.state === "unreadable") return refuseUnreadable(400, "There was an error parsing the body");
  if (body.state === "invalid") return refuseInvalid([body.finding]);
  const validated = validate(schema, body.value, ["body"]);
  return validated.state === "valid" ? { status: 200, json: "{}" } : refuseInvalid(validated.findings);
}

function bodyOf({ body_base64 }: Vector): Buffer | null {
  return typeof body_base64 === "string" ? Buffer.from(body_base64, "base64") : null;
}

function fill(body: Buffer | null, index: number): Buffer | null {
  if (body === null || !body.includes("{{")) return body;
  const words = {
    uniq: String(index).padStart(12, "0"),
    region: "us-west-2",
    robot_type: "so101_follower",
    subject: "pi0.5",
  };
  let text = body.toString("utf8");
  for (const [name, word] of Object.entries(words)) text = text.replaceAll(`{{${name}}}`, word);
  return Buffer.from(text);
}

/** By node:http, because fetch adds a content type of its own. */
function send({ url, key }: RunningService, { method, path, headers }: Vector, body: Buffer | null): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url + path,
      { method, headers: { ...headers, authorization: `Bearer ${key}` } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
        );
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body ?? undefined);
  });
}
