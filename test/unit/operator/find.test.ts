import { expect, test } from "vitest";
import * as z from "zod";

import { beyondSpec } from "../../../src/api/api.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";
import type { CallResult } from "../../../src/client/call-result.ts";
import { find, type Resource } from "../../../src/operator/find.ts";
import type { Listed } from "../../../src/operator/lists/listed.ts";
import type { Service } from "../../../src/operator/service.ts";
import { EXIT } from "../../../src/platform/terminal.ts";

interface Item {
  readonly id: string;
  readonly name: string;
}

const ITEMS: readonly Item[] = [
  { id: "i1", name: "twin" },
  { id: "i2", name: "twin" },
  { id: "twin-id", name: "arm" },
  { id: "i4", name: "twin-id" },
];
const LISTED: Listed<Item> = {
  records: ITEMS.map((value) => ({ value, document: value })),
  around: null,
  member: "",
};
const refused = (status: number, detail: string): CallResult<never> => {
  return { kind: "refused", status, detail, validation: null, retryAfterMs: null, request_id: null };
};
const row = { ...beyondSpec.getRobot, response: z.custom<Item>() };

function resource(more: Partial<Resource<Item>> = {}): Resource<Item> {
  return {
    noun: "item",
    list: "items list",
    by: "name or id",
    load: async () => ({ kind: "ok", status: 200, value: LISTED }),
    idOf: ({ id }) => id,
    namesOf: ({ name }) => [name],
    ...more,
  };
}

/** Finds with a service that answers the operation for one item so. */
async function findWith(of: Resource<Item>, name: string, answer: CallResult<never> = refused(404, "Not Found")) {
  let err = "";
  const terminal = createTerminal({
    stdout: { write() {} },
    stderr: { write: (text) => void (err += text) },
    environment: {},
  });
  const parts = { terminal, call: async () => answer, failed: () => EXIT.unreachable, answer: () => EXIT.ok };
  const service = parts as unknown as Service;
  const found = await find(service, of, name);
  return { found: typeof found === "number" ? found : found.value.id, err };
}

const get = { row, parameter: "item" };
const unreadable = { kind: "undecodable", status: 200, detail: "?", isJson: true, document: { odd: 1 } } as const;

test.each<[what: string, of: Resource<Item>, name: string, found: string | number, err: string]>([
  ["a name", resource(), "arm", "twin-id", ""],
  ["an id, which comes before names", resource(), "twin-id", "twin-id", ""],
  [
    "two of the name",
    resource(),
    "twin",
    EXIT.usage,
    "2 items have the name or id twin [ambiguous]\n  → give the id of one: i1, i2",
  ],
  [
    "none",
    resource(),
    "x",
    EXIT.rejected,
    "no item has the name or id x [not-found]\n  → robot-policy items list shows",
  ],
  ["no name of a path", resource(), "..", EXIT.usage, "'..' is not a valid name or id"],
  ["the service cannot show one", resource({ get }), "arm", "twin-id", ""],
])("find: %s", async (_what, of, name, expected, message) => {
  const { found, err } = await findWith(of, name);
  expect([found, err]).toEqual([expected, expect.stringContaining(message)]);
});

test("find: the service has none of this name and no list → the list is not offered", async () => {
  const listless = resource({ get, isListOptional: true, load: async () => refused(404, "Not Found") });
  const { found, err } = await findWith(listless, "arm", refused(404, "Item not found"));
  expect([found, err]).toEqual([EXIT.rejected, expect.stringContaining("check the name")]);
});

test("find: the service has none of this name → not looked for in the list", async () => {
  expect((await findWith(resource({ get }), "arm", refused(404, "Item not found"))).found).toBe(EXIT.rejected);
});

test("find: unreadable answer → a failure; shown only where nothing is to be changed", async () => {
  expect((await findWith(resource({ get }), "arm", unreadable)).found).toBe(EXIT.unreachable);
  expect((await findWith(resource({ get, isOnlyShown: true }), "arm", unreadable)).found).toBe(EXIT.ok);
});
