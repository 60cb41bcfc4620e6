import { expect, test } from "vitest";

import { tellingCode } from "../../../../src/client/transport/connection.ts";

const failed = (code: string) => Object.assign(new Error(code), { code });

test.each([
  ["one address", failed("ETIMEDOUT"), "ETIMEDOUT"],
  ["no address is reached", new AggregateError(["ENETUNREACH", "ETIMEDOUT"].map(failed)), "ENETUNREACH"],
  ["one of them refuses", new AggregateError(["ETIMEDOUT", "ECONNREFUSED"].map(failed)), "ECONNREFUSED"],
  [
    "one of them refuses, and another times out",
    Object.assign(new Error("timeout", { cause: new AggregateError(["ETIMEDOUT", "ECONNREFUSED"].map(failed)) }), {
      code: "UND_ERR_CONNECT_TIMEOUT",
    }),
    "ECONNREFUSED",
  ],
  ["no system error", new Error("a bug"), undefined],
])("tellingCode: %s", (_name, error, code) => {
  expect(tellingCode(error)).toBe(code);
});
