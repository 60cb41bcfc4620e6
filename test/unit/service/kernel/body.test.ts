import { expect, it } from "vitest";

import { readBody } from "../../../../src/service/kernel/http/body.ts";

it.each([
  ["application/json", true],
  ["Application/JSON; charset=utf-8", true],
  ["application/problem+json", true],
  ["application/json/x", false],
  ["application/jsonx", false],
  ["application", false],
  ["text/json", false],
  ["text/plain", false],
  [undefined, false],
])("readBody: content type %s → parsed as JSON: %s", (contentType, isJson) => {
  const body = readBody(contentType, Buffer.from("[]"));
  expect(body).toEqual({ state: "read", value: isJson ? [] : "[]" });
});
