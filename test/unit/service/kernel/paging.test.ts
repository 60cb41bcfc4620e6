import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { validationErrorBodySchema } from "../../../../src/api/wire/errors.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { nextPage, readPage } from "../../../../src/service/kernel/lists/pages.ts";
import { anyCharacter } from "../../../support/any-character.ts";

const newId = createIds(systemClock, systemRandom);
const idsInOrder = Array.from({ length: 2 }, () => newId("rob"));
function firstLink(url: string): URL {
  const target = /^<(.*)>; rel="next"$/.exec(nextPage(url, 1, idsInOrder[0] ?? "")["link"] ?? "")?.[1];
  if (target === undefined) throw new Error("no link");
  return new URL(target, "http://service.test/v1/robots");
}

describe("a page", () => {
  it("starts at the first item, or after the item of its cursor", () => {
    expect(readPage({ limit: 5 }, "rob")).toEqual({ state: "read", after: null });
    const cursor = firstLink("/v1/robots").searchParams.get("cursor") ?? "";
    expect(readPage({ cursor }, "rob")).toEqual({ state: "read", after: idsInOrder[0] });
  });
});

describe("the link", () => {
  it.each([
    ["/v1/robots", "/v1/robots?limit=1&cursor=CURSOR"],
    ["/v1/robots?limit=1&cursor=old", "/v1/robots?limit=1&cursor=CURSOR"],
    ["/v1/robots?b=1&limit=7&limit=9&a=%C3%A9+%26", "/v1/robots?b=1&limit=1&a=%C3%A9+%26&cursor=CURSOR"],
    ['/v1/robots?x=<>;"?\\', "/v1/robots?x=%3C%3E%3B%22%3F%5C&limit=1&cursor=CURSOR"],
    ["http://other.test/v1/robots?a=1", "/v1/robots?a=1&limit=1&cursor=CURSOR"],
  ])("of %s", (url, expected) => {
    const { pathname, search } = firstLink(url);
    expect((pathname + search).replace(/(?<=cursor=)[\w-]+/, "CURSOR")).toBe(expected);
  });
});

describe("a cursor", () => {
  const ours = Buffer.from(idsInOrder[0] ?? "").toString("base64url");
  it.each([
    ["of another list", Buffer.from(newId("fleet")).toString("base64url")],
    ["with additional text", `${ours}A`],
    ["with padding", `${ours}=`],
    ["that is a plain id", idsInOrder[0] ?? ""],
    ["of no id", Buffer.from("rob_").toString("base64url")],
    ["with more than an id", Buffer.from(`${idsInOrder[0] ?? ""}' or 1`).toString("base64url")],
    ["that is empty", ""],
  ])("%s → refused at its position", (_what, cursor) => {
    const page = readPage({ limit: 5, cursor }, "rob");
    if (page.state === "read") throw new Error("it was read");
    expect(page.answer.status).toBe(422);
    expect(validationErrorBodySchema.parse(JSON.parse(page.answer.json)).detail).toEqual([
      {
        type: "value_error",
        loc: ["query", "cursor"],
        msg: "Value error, the cursor is not one this list gave out",
        input: cursor,
        ctx: { error: {} },
      },
    ]);
  });

  it("arbitrary text → refused, never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 256 }), (cursor) => {
        expect(readPage({ cursor }, "rob").state).toBe("refused");
      }),
    );
  });
});
