import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";

import type { PageQuery } from "../../../../src/api/wire/pages.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { answerList, ITEMS, PART_CHARACTERS } from "../../../../src/service/kernel/lists/answer-list.ts";
import type { PageRange } from "../../../../src/service/kernel/lists/pages.ts";

const newId = createIds(systemClock, systemRandom);
const ids = Array.from({ length: 40 }, () => newId("use"));

/** The answer as a client assembles it, the largest number of rows held at once, and the number of fetched rows. */
async function ask(length: number, fetchedRows: number, query: PageQuery = {}, charactersOf = (_index: number) => 1) {
  let most = 0;
  let fetchedCount = 0;
  const answer = await answerList(
    { query, url: "/v1/me/usage" },
    {
      prefix: "use",
      around: ITEMS,
      fetchedRows,
      fetch: ({ after, rows }: PageRange) => {
        const following = ids.slice(0, length).filter((id) => after === null || id > after);
        const fetched = rows === null ? following : following.slice(0, rows);
        most = Math.max(most, fetched.length);
        fetchedCount += fetched.length;
        return Promise.resolve(fetched.map((id) => ({ id })));
      },
      view: ({ id }) => ({ id, text: "x".repeat(charactersOf(ids.indexOf(id))) }),
    },
  );
  const parts = "parts" in answer ? await Array.fromAsync(answer.parts) : [answer.json];
  const { items } = listSchema.parse(JSON.parse(parts.join("")));
  const link = new URL(/^<(.*)>/.exec(answer.headers?.["link"] ?? "")?.[1] ?? "/", "http://service.test");
  return { items: items.map(({ id }) => id), parts, most, fetchedCount, cursor: link.searchParams.get("cursor") };
}

const listSchema = z.object({ items: z.array(z.object({ id: z.string() })) });

describe("answerList", () => {
  const count = fc.nat({ max: ids.length });
  const fetchedRows = fc.integer({ min: 1, max: 12 });

  it("any length → the complete list, never more rows held than fetched at once", async () => {
    await fc.assert(
      fc.asyncProperty(count, fetchedRows, async (length, rows) => {
        const { items, most } = await ask(length, rows);
        expect(items).toEqual(ids.slice(0, length));
        expect(most).toBeLessThanOrEqual(rows);
      }),
    );
  });

  it("pages of any size → together the list; only the last has no link", async () => {
    await fc.assert(
      fc.asyncProperty(count, fetchedRows, fc.integer({ min: 1, max: 45 }), async (length, rows, limit) => {
        const seen: string[] = [];
        for (let cursor: string | null | undefined; cursor !== null;) {
          const page = await ask(length, rows, cursor === undefined ? { limit } : { limit, cursor });
          seen.push(...page.items);
          cursor = page.cursor;
          if (cursor !== null) expect(page.items).toHaveLength(limit);
        }
        expect(seen).toEqual(ids.slice(0, length));
      }),
    );
  });

  it("cursor, with or without a limit → starts after it", async () => {
    const cursor = Buffer.from(ids[9] ?? "").toString("base64url");
    expect((await ask(40, 7, { cursor })).items).toEqual(ids.slice(10));
    expect((await ask(40, 7, { cursor, limit: 20 })).items).toEqual(ids.slice(10, 30));
    await expect(ask(40, 7, { cursor: "bm9uZQ" })).rejects.toThrow();
  });

  it("long items → smaller pages and parts, none is left out", async () => {
    const third = Math.ceil(PART_CHARACTERS / 3);
    const whole = await ask(7, 40, {}, () => third);
    expect(whole.items).toEqual(ids.slice(0, 7));
    expect(whole.parts.filter((part) => part.includes("id")).map((part) => part.split("id").length - 1)).toEqual([
      3, 1, 1, 1, 1,
    ]);
    const page = await ask(7, 40, { limit: 5 }, () => third);
    expect(page.items).toEqual(ids.slice(0, 3));
    // A part fetches at most two rows that it does not contain.
    expect((await ask(40, 40, {}, () => third)).fetchedCount).toBeLessThan(40 + 2 * 40);
    expect((await ask(7, 40, { limit: 5, cursor: page.cursor ?? "" }, () => third)).items).toEqual(ids.slice(3, 6));
  });

  it("items of any length → complete", async () => {
    const lengths = fc.array(fc.constantFrom(1, PART_CHARACTERS / 8, PART_CHARACTERS), {
      minLength: 40,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(count, fetchedRows, lengths, async (length, rows, characters) => {
        const { items } = await ask(length, rows, {}, (index) => characters[index] ?? 0);
        expect(items).toEqual(ids.slice(0, length));
      }),
      { numRuns: 20 },
    );
  });
});
