import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { isLong } from "../support/run/tier.ts";
import { WITHOUT_POSTGRES } from "../support/service/postgres.ts";
import { startService } from "../support/service/service.ts";
import { type NewStore, usePostgres, useSqlite } from "../support/service/stores.ts";
import { createExchange, type Exchange, type RawResponse } from "./exchange.ts";

const vectorSchema = z.object({
  id: z.string(),
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  body_base64: z.string().nullish(),
  needs: z.looseObject({ name: z.string(), count: z.int() }).optional(),
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

/** Number of connections: some requests concern a thousand robots. */
const AT_ONCE = 25;
const modelsFile = fileURLToPath(new URL("../../config/models.example.yaml", import.meta.url));
const VALUES = { region: "us-west-2", robot_type: "so101_follower", subject: "pi0.5" };
const REGISTRATION = {
  robot_type_id: VALUES.robot_type,
  region: VALUES.region,
  configuration_digest: `sha256:${"0".repeat(64)}`,
};

/** Soft vectors for which this service decides otherwise, with the types of its findings or its status. */
const DECIDED_OTHERWISE: ReadonlyMap<string, readonly string[] | 413> = new Map<string, readonly string[] | 413>([
  // A time zone is required.
  ["accept-datetime/naive-start-only--2098-01-01t00-00-00", ["timezone_aware"]],
  ["accept-datetime/naive--2098-01-01-00-00", ["timezone_aware", "timezone_aware"]],
  ["accept-datetime/naive-start-only--2098-01-01", ["timezone_aware"]],
  ["accept-datetime/naive-start-only--2098-01-01t00-00-00.5", ["timezone_aware"]],
  // A selector needs a filter.
  ["accept-fleet/selector-empty", ["value_error"]],
  // The peak is at most the number of robots, and integers have a maximum.
  ["accept-fleet/peak-over--1-000", ["value_error"]],
  ["accept-fleet/peak-over-2147483648", ["value_error"]],
  ["accept-fleet/peak-over-1000000000000000000000000000000", ["less_than_equal"]],
  // Several times the largest body that is accepted here.
  ["nesting/arrays-100000", 413],
]);

describe("golden answers on SQLite", () => replay(vectors, useSqlite().withSchema));

describe.skipIf(WITHOUT_POSTGRES)("golden answers on PostgreSQL", { tags: "needs/postgres" }, () =>
  replay(vectors.filter(usesStore), usePostgres().withSchema),
);

/**
 * Needs a thousand registrations for one answer. test/integration/service/kernel/store/postgres.test.ts tests that many names on
 * PostgreSQL.
 */
const A_THOUSAND_ROBOTS = "accept-fleet/robots-1000";

/** Whether the answer depends on the store. Invalid bodies are refused before any query. */
function usesStore({ id, expect: { status } }: Vector): boolean {
  if (isLong || id.startsWith("unknown-fleet/")) return true;
  return status !== 422 && status !== 400 && id !== A_THOUSAND_ROBOTS;
}

function replay(replayed: readonly Vector[], newStore: NewStore): void {
  const resources = new AsyncDisposableStack();
  let exchange: Exchange;
  let fleetId: string;
  const createdIds = new Set<string>();
  beforeAll(async () => {
    const service = resources.use(await startService({ store: await newStore(), configuration: { modelsFile } }));
    exchange = recordCreated(resources.use(createExchange(service.url, service.key, AT_ONCE)), createdIds);
    await register(exchange, "golden");
    fleetId = z.object({ id: z.string() }).parse(
      await created(exchange, "/v1/fleets", {
        name: "golden",
        subject: VALUES.subject,
        selection: { robots: ["golden"] },
        peak_active_robots: 1,
        readiness_mode: "on_demand",
      }),
    ).id;
  });
  afterAll(async () => {
    await using _ = resources;
    const unexpected = (await storedIds(exchange)).filter((id) => !createdIds.has(id));
    expect(unexpected, "stored although refused, except the first key").toEqual([expect.stringMatching(/^key_/)]);
  });

  it.each(replayed)("$id", async (vector) => {
    const { method, path, headers, body_base64: bodyBase64, needs } = vector;
    const uniq = String(vectors.indexOf(vector)).padStart(12, "0");
    const fill = filling({ ...VALUES, fleet_id: fleetId, uniq });
    if (needs !== undefined) {
      const { name, count, ...members } = z
        .looseObject({ name: z.string(), count: z.int() })
        .parse(fillIn(needs, fill));
      const names = Array.from({ length: count }, (_, index) => `${name}${index + 1}`);
      await Promise.all(names.map((each) => register(exchange, each, members)));
    }
    const body = typeof bodyBase64 === "string" ? Buffer.from(bodyBase64, "base64") : null;
    const filled = body?.includes("{{") === true ? Buffer.from(fill(body.toString("utf8"))) : body;
    judge(vector, await exchange.send({ method, path: fill(path), headers, body: filled }));
  });
}

const createdSchema = z.union([z.object({ robot: z.object({ id: z.string() }) }), z.object({ id: z.string() })]);

/** Records the ids of everything that requests create. */
function recordCreated(exchange: Exchange, createdIds: Set<string>): Exchange {
  return {
    ...exchange,
    async send(outgoing) {
      const answer = await exchange.send(outgoing);
      const isCreated = outgoing.method === "POST" && [200, 201].includes(answer.status);
      if (!isCreated) return answer;
      const body = createdSchema.parse(JSON.parse(answer.body));
      createdIds.add("robot" in body ? body.robot.id : body.id);
      return answer;
    },
  };
}

const listSchema = z.array(z.object({ id: z.string() }));

/** Ids of everything that requests can create. */
async function storedIds(exchange: Exchange): Promise<string[]> {
  const ids: string[] = [];
  for (const path of ["/v1/robots", "/v1/fleets", "/v1/me/deployments", "/v1/me/api-keys"]) {
    const { body } = await exchange.send({ method: "GET", path });
    const list: unknown = JSON.parse(body);
    const items = Array.isArray(list) ? list : z.object({ items: z.unknown() }).parse(list).items;
    ids.push(...listSchema.parse(items).map(({ id }) => id));
  }
  return ids;
}

function judge({ id, soft, expect: golden }: Vector, { status, body }: RawResponse): void {
  const decided = DECIDED_OTHERWISE.get(id);
  if (decided !== undefined) expect(soft, "only soft answers may differ").toBe(true);
  const other = decided === 413 ? { status: decided } : { status: 422, types: decided };
  const wanted = decided === undefined ? golden : other;
  if (wanted.status === "2xx") expect(status, body).toBeOneOf([200, 201]);
  else expect(status, body.slice(0, 500)).toBe(wanted.status);
  if (wanted.types !== undefined) {
    expect(detailSchema.parse(JSON.parse(body)).detail.map(({ type }) => type)).toEqual(wanted.types);
  }
  if ("body" in wanted) expect(normalized(JSON.parse(body))).toStrictEqual(normalized(wanted.body));
}

/** In JSON, -0 and 0 are the same number. */
function normalized(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function filling(values: Readonly<Record<string, string>>): (text: string) => string {
  return (text) => text.replaceAll(/\{\{(\w+)\}\}/g, (placeholder, word: string) => values[word] ?? placeholder);
}

function fillIn(value: unknown, fill: (text: string) => string): unknown {
  return JSON.parse(fill(JSON.stringify(value)));
}

function register(exchange: Exchange, name: string, members: object = {}): Promise<unknown> {
  return created(exchange, "/v1/robots/setup", { ...REGISTRATION, name, ...members });
}

async function created(exchange: Exchange, path: string, body: object): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const answer = await exchange.send({ method: "POST", path, headers, body: Buffer.from(JSON.stringify(body)) });
  expect(answer.status, answer.body).toBe(200);
  return JSON.parse(answer.body);
}
