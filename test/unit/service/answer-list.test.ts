import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { PageQuery } from "../../../src/api/pages.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { createIds } from "../../../src/service/ids.ts";
import { answerList, ITEMS } from "../../../src/service/operations/answer-list.ts";
import type { PageRange } from "../../../src/service/store/page-range.ts";

const newId = createIds(systemClock, systemRandom);
const ids = Array.from({ length: 40 }, () => newId("use"));

/** The answer as a client puts it together, and the largest number of rows that was held for it. */
async function ask(length: number, part_rows: number, query: PageQuery = {}) {
  let most = 0;
  const answer = await answerList(
    { query, url: "/v1/me/usage" },
    {
      prefix: "use",
      around: ITEMS,
      part_rows,
      fetch: ({ after, rows }: PageRange) => {
        const following = ids.slice(0, length).filter((id) => after === null || id > after);
        const fetched = rows === null ? following : following.slice(0, rows);
        most = Math.max(most, fetched.length);
        return Promise.resolve(fetched.map((id) => ({ id })));
      },
      view: ({ id }) => ({ id }),
    },
  );
  const json = "parts" in answer ? (await Array.fromAsync(answer.parts)).join("") : answer.json;
  return { status: answer.status, items: JSON.parse(json) as unknown, most };
}

describe("answerList", () => {
  it("is the whole list, however long it is, and never holds more than a part of it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: ids.length }), fc.integer({ min: 1, max: 12 }), async (length, part_rows) => {
        const { status, items, most } = await ask(length, part_rows);
        expect([status, items]).toEqual([200, { items: ids.slice(0, length).map((id) => ({ id })) }]);
        expect(most).toBeLessThanOrEqual(part_rows);
      }),
    );
  });

  it("begins after a cursor, with a limit and without", async () => {
    const cursor = Buffer.from(ids[9] ?? "").toString("base64url");
    expect((await ask(40, 7, { cursor })).items).toEqual({ items: ids.slice(10).map((id) => ({ id })) });
    expect((await ask(40, 7, { cursor, limit: 20 })).items).toEqual({ items: ids.slice(10, 30).map((id) => ({ id })) });
    expect((await ask(40, 7, { cursor: "bm9uZQ" })).status).toBe(422);
  });
});
