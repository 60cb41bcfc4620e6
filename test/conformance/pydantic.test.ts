import { readFileSync } from "node:fs";

import * as z from "zod";
import { describe, expect, it } from "vitest";

import { readBody } from "../../src/service/kernel/http/body.ts";
import { type Json, parseJson } from "../../src/service/kernel/json/json.ts";
import { readDateTime } from "../../src/service/kernel/validation/date-time.ts";
import { readBoolean, readInteger } from "../../src/service/kernel/validation/lax-values.ts";
import { answerOf, requestSchemaAt } from "./answer-of.ts";

const faultSchema = z.object({ type: z.string(), msg: z.string(), ctx: z.unknown().optional() });
const booleanSchema = z.union([
  z.object({ input: z.string(), value: z.boolean() }),
  faultSchema.extend({ input: z.string() }),
]);
const integerSchema = z.union([
  z.object({ input: z.string(), value: z.string() }),
  faultSchema.extend({ input: z.string() }),
]);
const dateTimeSchema = z.union([
  z
    .object({ input: z.string(), epoch_ms: z.int(), has_offset: z.boolean() })
    .transform(({ input, epoch_ms: epochMs, has_offset: hasOffset }) => ({ input, epochMs, hasOffset })),
  faultSchema.extend({ input: z.string() }),
]);
const bodySchema = z.object({
  path: z.string(),
  content_type: z.string().optional(),
  body: z.string().optional(),
  body_base64: z.string().optional(),
  status: z.int(),
  answer: z.unknown().optional(),
});

describe("booleans → as pydantic reads them", () => {
  it.each(recorded("booleans", booleanSchema))("readBoolean: $input", ({ input, ...expected }) => {
    const read = readBoolean(json(input));
    expect("fault" in read ? read.fault : read).toEqual(expected);
  });
});

describe("integers → as pydantic reads them", () => {
  it.each(recorded("integers", integerSchema))("readInteger: $input", ({ input, ...expected }) => {
    const read = readInteger(json(input));
    expect("fault" in read ? read.fault : { value: String(BigInt(read.value)) }).toEqual(expected);
  });
});

/** Recorded like the others, but too long for the file. */
describe("integers with thousands of digits → as pydantic reads them", () => {
  const UNPARSABLE = "int_parsing";
  const OVERSIZED = "int_parsing_size";
  it.each([
    ["", "1".repeat(4300), null],
    ["-", "1".repeat(4300), null],
    ["0", "1".repeat(4300), null],
    ["", "1" + "_1".repeat(4299), null],
    ["", "1".repeat(4301), OVERSIZED],
    ["-", "1".repeat(4301), OVERSIZED],
    ["+", "1".repeat(4301), UNPARSABLE],
    ["0", "1".repeat(4301), UNPARSABLE],
    [" ", "1".repeat(4301), UNPARSABLE],
    ["", "1" + "_1".repeat(4300), UNPARSABLE],
  ])("case %# of digits behind %j", (before, digits, type) => {
    const read = readInteger(before + digits);
    const expected = BigInt(`${before === "-" ? "-" : ""}${digits.replaceAll("_", "")}`);
    expect("fault" in read ? read.fault.type : read.value).toEqual(type ?? expected);
  });
});

describe("date-times → as pydantic reads them", () => {
  it.each(recorded("date-times", dateTimeSchema))("readDateTime: $input", ({ input, ...expected }) => {
    const read = readDateTime(json(input));
    expect("fault" in read ? read.fault : read.value).toEqual(expected);
  });
});

describe("bodies → as FastAPI answers them", () => {
  it.each(recorded("bodies", bodySchema))(
    "body %#: $path $content_type",
    ({ path, content_type: contentType, body, body_base64: bodyBase64, status, answer }) => {
      const bytes = body === undefined ? Buffer.from(bodyBase64 ?? "", "base64") : Buffer.from(body);
      const answered = answerOf(requestSchemaAt(path), readBody(contentType, bytes));
      expect(answered.status, answered.json).toBe(status);
      if (answer !== undefined) expect(JSON.parse(answered.json)).toEqual(answer);
    },
  );
});

function recorded<T>(name: string, schema: z.ZodType<T>): readonly T[] {
  return readFileSync(new URL(`../golden/pydantic/${name}.jsonl`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => schema.parse(JSON.parse(line)));
}

function json(text: string): Json {
  const parsed = parseJson(text);
  if (parsed.state !== "parsed") throw new Error(`Not JSON: ${text}`);
  return parsed.value;
}
