import { describe, expect } from "vitest";

import { STEADY } from "./catalog.ts";
import { allOperations, type Answered, type Client, type Name } from "./client.ts";
import { register } from "./registering.ts";
import type { Tests } from "./tests.ts";
import { readAnswer } from "./views.ts";
import { soon } from "./waiting.ts";

/** Number of items in each list. */
const COUNT = 5;

interface List {
  readonly name: Name;
  /** Creates items until the list has `COUNT`. */
  fill(client: Client): Promise<void>;
}

const names = Array.from({ length: COUNT }, (_, index) => `r${index}`);
const LISTS: readonly List[] = [
  { name: "listRobots", fill: async (client) => void (await register(client, names)) },
  {
    name: "listFleets",
    async fill(client) {
      await register(client, ["r0"]);
      for (const name of names) await client.call("createFleet", { body: fleetOf(name) });
    },
  },
  {
    name: "listDeployments",
    async fill(client) {
      await register(client, names);
      for (const robot of names) await client.call("createDeployment", { body: { model: STEADY.slug, robot } });
    },
  },
  {
    name: "listUsage",
    async fill(client) {
      await register(client, names);
      for (const robot of names) await client.call("createDeployment", { body: { model: STEADY.slug, robot } });
      await soon(async () => expect((await client.call("listUsage")).items).toHaveLength(COUNT));
    },
  },
  {
    name: "listApiKeys",
    async fill(client) {
      // The key of the client is the first item.
      for (const label of names.slice(1)) await client.call("createApiKey", { body: { label } });
    },
  },
];

export function pagingConformance({ target, it, itOnce }: Tests): void {
  describe.each(LISTS)("pages of $name", ({ name, fill }) => {
    it("limit → the pages together are the whole list", async ({ client }) => {
      await fill(client);
      const whole = itemsOf(await client.send(name), name);
      expect(whole).toHaveLength(COUNT);
      for (const limit of [1, 2, COUNT - 1, COUNT, COUNT + 1, 1000]) {
        const pages = await walk(client, name, `?limit=${limit}`);
        expect(pages.flat().map(identity)).toEqual(whole.map(identity));
        expect(pages.map((page) => page.length)).toEqual(
          Array.from({ length: Math.ceil(COUNT / limit) }, (_, index) => Math.min(limit, COUNT - index * limit)),
        );
      }
    });

    it("other query parameters → kept in the link to the next page", async ({ client }) => {
      await fill(client);
      const first = await get(client, `${allOperations[name].path}?limit=2&note=a%26b`);
      expect(linkOf(first)).toMatch(/[?&]note=a%26b(?:&|$)/);
    });

    itOnce.each<[query: string, loc: string]>([
      ["limit=0", "limit"],
      ["limit=1001", "limit"],
      ["limit=1.5", "limit"],
      ["cursor=", "cursor"],
      ["cursor=cm9iXzE%3D", "cursor"],
      [`cursor=${"A".repeat(5000)}`, "cursor"],
      ["limit=2&cursor='%20or%201=1--", "cursor"],
    ])("%s → 422", async (query, loc) => {
      const client = await target().organization();
      const { status, body } = await get(client, `${allOperations[name].path}?${query}`);
      expect([status, body]).toMatchObject([422, { detail: [{ loc: ["query", loc] }] }]);
    });

    it("cursor of another list → 422", async ({ client }) => {
      const other = name === "listRobots" ? "listApiKeys" : "listRobots";
      await register(client, ["a", "b"]);
      await client.call("createApiKey", { body: { label: "b" } });
      const link = linkOf(await get(client, `${allOperations[other].path}?limit=1`));
      const cursor = new URLSearchParams(link?.split("?")[1]).get("cursor") ?? "";
      expect(cursor).not.toBe("");
      await client.invalid([["query", "cursor"]], name, { query: { cursor } });
    });
  });
}

/** A fleet of the robot `r0`. */
export function fleetOf(name: string) {
  return {
    name,
    subject: STEADY.slug,
    selection: { robots: ["r0"] },
    peak_active_robots: 1,
    readiness_mode: "always_ready",
  };
}

/** Follows the links to the last page. */
async function walk(client: Client, name: Name, query: string): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  let next: string | null = allOperations[name].path + query;
  while (next !== null && pages.length <= COUNT) {
    const answer: Answered = await get(client, next);
    expect(answer.status).toBe(200);
    pages.push(itemsOf(answer, name));
    next = linkOf(answer);
  }
  return pages;
}

function itemsOf({ body }: Answered, name: Name): unknown[] {
  const list = readAnswer(name, body);
  if (Array.isArray(list)) return list;
  if ("items" in list && Array.isArray(list.items)) return list.items;
  throw new Error(`${name} answers no list`);
}

/** Compares ids only, because the quantities of running usage change. */
function identity(item: unknown): unknown {
  return typeof item === "object" && item !== null && "id" in item ? item.id : item;
}

/** Target of the `Link` with `rel="next"`, relative to the service. */
function linkOf({ headers }: Answered): string | null {
  const link = headers.get("link");
  if (link === null) return null;
  const match = /^<(\/v1\/[^<>"\s]+)>; rel="next"$/.exec(link);
  expect(match, link).not.toBeNull();
  return match?.[1] ?? null;
}

async function get({ nextUrl, key }: Client, path: string): Promise<Answered> {
  const answer = await fetch(nextUrl() + path, { headers: { authorization: `Bearer ${key}` } });
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}
