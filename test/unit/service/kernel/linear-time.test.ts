import * as z from "zod";
import { expect, it } from "vitest";

import { beyondSpec, operations } from "../../../../src/api/api.ts";
import type { Operation } from "../../../../src/api/wire/operation.ts";
import { isForPage, consoleMethodsAt } from "../../../../src/console/server/console-paths.ts";
import { pageHeaders } from "../../../../src/console/server/files.ts";
import { bearerToken } from "../../../../src/service/kernel/auth/authenticate.ts";
import { readBody } from "../../../../src/service/kernel/http/body.ts";
import { clientAddress, isSameOrigin, readConsoleCookie } from "../../../../src/service/kernel/http/arrival.ts";
import { createRequestId, loggedPath } from "../../../../src/service/kernel/http/request-log.ts";
import { methodsAt } from "../../../../src/service/kernel/http/routing.ts";
import type { Json, JsonObject } from "../../../../src/service/kernel/json/json.ts";
import { readPage } from "../../../../src/service/kernel/lists/pages.ts";
import { readClientAddress } from "../../../../src/service/kernel/traffic/client-address.ts";
import { validationAnswer } from "../../../../src/service/kernel/validation/answer.ts";
import { validate } from "../../../../src/service/kernel/validation/validation.ts";
import { testMachine } from "../../../support/robot/machine.ts";
import { atPresentSpeed, processorMs } from "../../../support/run/processor.ts";

/** So long that any backtracking takes seconds: half the square of this are nine thousand million steps. */
const LENGTH = 128 * 1024;
/** Far more than the checks take, and far less than backtracking. */
const MAXIMUM_MS = 100;

/** Texts that make a careless check backtrack: a prefix, a repeated part, and an end that fails the match. */
const TEXTS: readonly (readonly [begin: string, repeated: string, end: string])[] = [
  ["x", " ", "x"],
  ["x", "\u2003", "x"],
  [" ", "\n", "x"],
  ["", "0", "x"],
  ["", "0_", "x"],
  ["1", "_1", "_x"],
  ["+", "1", "x"],
  ["1.", "0", "x"],
  ["1e", "1", "x"],
  ["2026-01-01T00:00:00.", "1", "x"],
  ["", "a.", "!"],
  ["acme", "-a", "!"],
  ["sha256:", "a", "!"],
  ["", "sk_", "!"],
  ["", "sk_a_", "!"],
  ["", "sk_rps_0123456789 ", "!"],
  ["http://localhost:", "6", "!"],
  ["", "/", "!"],
  ["/v1/robots/", "%2F", "!"],
  ["bearer", " ", "a a"],
  ["", "gzip;q=0.", ","],
  ["gzip;q", " ", "=1"],
  ["gzip;q=0.", "0", "x"],
  ["", "a=b; ", "rps_session"],
  ["", ":1", "x"],
  ["", "::", "1"],
  ["W/", "W/", ","],
  ["", "😀", "\ud800"],
];

function textOf([begin, repeated, end]: (typeof TEXTS)[number]): string {
  return begin + repeated.repeat(LENGTH / repeated.length) + end;
}

/** Texts instead of JSON. */
const DOCUMENTS: typeof TEXTS = [
  ["", " ", "x"],
  ["[", " ", "x"],
  ['"', "\\u0041", ""],
  ['"', "\\", '"'],
  ['"', "é", "\u0001"],
  ["", "9", ""],
  ["0.", "9", "x"],
  ["[", "[],", "]"],
  ['{"a":', '{"a":', ""],
  ["[", "1e9,", "]"],
  ["[", `${"9".repeat(4300)},`, "]"],
  ["{", '"":0,', "}"],
];

const OPERATIONS: readonly (readonly [string, Operation])[] = Object.entries({ ...operations, ...beyondSpec });
const REQUESTS = OPERATIONS.flatMap(([name, { query, request }]) =>
  [query, request].filter((schema) => schema instanceof z.ZodObject).map((schema) => [name, schema] as const),
);

const requestIdOf = createRequestId(testMachine.random);

/** Everything that processes a client's input before an operation does. */
const CHECKS: Readonly<Record<string, (text: string) => unknown>> = {
  "the Authorization header": (text) => bearerToken(text),
  "the Accept header": (text) => isForPage("GET", "/", text),
  "the Cookie header": (text) =>
    readConsoleCookie({ protocol: "https", host: "localhost:8080", headers: { cookie: text } }),
  "the Host header": (text) => [
    readConsoleCookie({ protocol: "https", host: text, headers: { cookie: "a=b" } }),
    pageHeaders({ protocol: "https", host: text }),
    isSameOrigin({ protocol: "https", host: text, headers: { origin: text } }),
  ],
  "the X-Forwarded-For header": (text) => readClientAddress(clientAddress({ ip: text })),
  "the X-Request-Id header": (text) => requestIdOf({ headers: { "x-request-id": text } }),
  "the path": (text) => [
    methodsAt(text),
    consoleMethodsAt(text),
    isForPage("GET", text, ""),
    loggedPath({ url: text }),
  ],
  "the query": (text) => [...new URLSearchParams(text)],
  "a cursor": (text) => readPage({ cursor: text }, "rob"),
  "a text body": (text) => readBody("text/plain", Buffer.from(text)),
};

function expectLinear(what: readonly string[], check: () => unknown): void {
  const tookMs = processorMs(check);
  // Measuring the present speed takes longer than most checks.
  if (tookMs < MAXIMUM_MS) return;
  expect(tookMs, JSON.stringify(what)).toBeLessThan(atPresentSpeed(MAXIMUM_MS));
}

it.each(Object.entries(CHECKS))("%s → no backtracking", (_what, check) => {
  for (const parts of TEXTS) {
    const text = textOf(parts);
    expectLinear(parts, () => check(text));
  }
});

it("body → no backtracking", () => {
  for (const document of DOCUMENTS) {
    const body = Buffer.from(textOf(document));
    expectLinear(document, () => readBody("application/json", body));
  }
});

/** Refuses the body, as the service would answer it. */
function refuse(schema: z.ZodObject, input: Json): string | null {
  const validated = validate(schema, input, ["body"]);
  return validated.state === "invalid" ? validationAnswer(validated.findings) : null;
}

it.each(REQUESTS)("%s: long members → no backtracking", (_name, schema) => {
  for (const text of TEXTS) {
    const value = textOf(text);
    const body = new Map(Object.keys(schema.shape).map((member) => [member, value]));
    expectLinear(text, () => refuse(schema, body));
  }
});

it.each<readonly [string, Json]>([
  ["an unpaired surrogate", "\ud800"],
  ["no number", Number.NaN],
])("contract of only %s, as many as a body can have under a name as long → bounded work", (what, wrong) => {
  const contract: JsonObject = new Map([["sk_".repeat(LENGTH / 3), Array.from({ length: 8000 }, () => wrong)]]);
  expectLinear([what], () => refuse(operations.setupRobot.request, new Map<string, Json>([["contract", contract]])));
});
