import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { validationErrorBodySchema } from "../../../src/api/errors.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { createIds } from "../../../src/service/ids.ts";
import { pageOf, readPage } from "../../../src/service/operations/paging.ts";
import { anyCharacter } from "../../support/any-character.ts";

const newId = createIds(systemClock, systemRandom);
const idsInOrder = Array.from({ length: 50 }, () => newId("rob"));
const rows = idsInOrder.map((id) => ({ id }));

/** What a store answers to a range. */
function fetch({ after, rows: count }: { readonly after: string | null; readonly rows: number | null }) {
  const found = rows.filter(({ id }) => after === null || id > after);
  return count === null ? found : found.slice(0, count);
}

function nextOf(headers: Readonly<Record<string, string>>): URL | null {
  const target = /^<(.*)>; rel="next"$/.exec(headers["link"] ?? "")?.[1];
  return target === undefined ? null : new URL(target, "http://service.test/v1/robots");
}

function firstLink(url: string): URL {
  const next = nextOf(pageOf(rows, { limit: 1 }, url).headers);
  if (next === null) throw new Error("no link");
  return next;
}

describe("pages", () => {
  it("of any size, one after the other, are the list", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), (limit) => {
        const seen: string[] = [];
        for (let cursor: string | null | undefined; cursor !== null;) {
          const query = cursor === undefined ? { limit } : { limit, cursor };
          const page = readPage(query, "rob");
          if (page.state === "refused") throw new Error(page.answer.json);
          const { rows: shown, headers } = pageOf(fetch(page.range), query, `/v1/robots?limit=${limit}`);
          expect(shown.length).toBeLessThanOrEqual(limit);
          seen.push(...shown.map(({ id }) => id));
          cursor = nextOf(headers)?.searchParams.get("cursor") ?? null;
        }
        expect(seen).toEqual(idsInOrder);
      }),
    );
  });

  it("without a limit there is one, of everything after the cursor", () => {
    expect(readPage({}, "rob")).toEqual({ state: "read", range: { after: null, rows: null } });
    const cursor = firstLink("/v1/robots").searchParams.get("cursor") ?? "";
    expect(readPage({ cursor }, "rob")).toEqual({ state: "read", range: { after: idsInOrder[0], rows: null } });
    expect(pageOf(rows, {}, "/v1/robots")).toEqual({ rows, headers: {} });
  });

  it.each([
    ["a last page that is full", 50],
    ["a last page that is not", 51],
  ])("%s has no link", (_what, limit) => {
    expect(pageOf(fetch({ after: null, rows: limit + 1 }), { limit }, "/v1/robots").headers).toEqual({});
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
    ["with something behind", `${ours}A`],
    ["in another spelling", `${ours}=`],
    ["that is an id", idsInOrder[0] ?? ""],
    ["of no id", Buffer.from("rob_").toString("base64url")],
    ["that says more than an id", Buffer.from(`${idsInOrder[0] ?? ""}' or 1`).toString("base64url")],
    ["that is empty", ""],
  ])("%s is refused where it stands", (_what, cursor) => {
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

  it("of arbitrary text never passes, and never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 256 }), (cursor) => {
        expect(readPage({ cursor }, "rob").state).toBe("refused");
      }),
    );
  });
});
