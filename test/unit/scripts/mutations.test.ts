import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, it } from "vitest";

import { MUTATION_KINDS, type MutationKind, mutationsOf } from "../../../scripts/lab/mistakes/mutations.ts";

const root = join(import.meta.dirname, "../../..");

/** A real code example for each kind of mutation, because a kind that no longer matches would silently find nothing. */
const PLANTED: Readonly<Record<MutationKind, readonly [path: string, mistake: string, replacement: string]>> = {
  "dropped-await": ["src/platform/files/durable-file.ts", "await file.close()", "(file.close())"],
  "dropped-fsync": ["src/platform/files/durable-file.ts", "await file.sync();", ";"],
  "dropped-organization": [
    "src/service/changes.ts",
    'reader.selectFrom("fleet_windows").where("organization_id", "=", organizationId)',
    'reader.selectFrom("fleet_windows")',
  ],
  "dropped-where": [
    "src/service/keys/queries.ts",
    "selectKeys(reader, organizationId).where(worksAt(now))",
    "selectKeys(reader, organizationId)",
  ],
  "dropped-lock": [
    "src/service/fleets/queries.ts",
    "fleetForUpdate(transaction, key).skipLocked()",
    "fleetForUpdate(transaction, key)",
  ],
  "dropped-snapshot": [
    "src/service/fleets/operations.ts",
    "readSnapshot(store.reader, (snapshot) => findFleetFacts(snapshot, organizationId, id))",
    "((snapshot) => findFleetFacts(snapshot, organizationId, id))(store.reader)",
  ],
  "dropped-call": ["src/service/fleets/operations.ts", "nudge();", ";"],
  "dropped-scope": ["src/api/robots.ts", '["robots:setup", "robots:self"]', '"any"'],
  "swapped-arguments": ["src/service/usage/queries.ts", "usageFrom, end", "end, usageFrom"],
  "off-by-one": ["src/manifest/shown.ts", "masked.length > limit", "masked.length >= limit"],
  "wrong-constant": ["src/service/robots/room.ts", "10", "(10) * 10"],
  "wrong-unit": ["src/service/endpoints/expectation.ts", "range.upperSeconds * 1000", "range.upperSeconds"],
  "wrong-status": ["src/service/kernel/http/answers.ts", "200", "201"],
  "stale-cache": ["src/fingerprint/settling.ts", "changingSince.delete(path);", ";"],
  "uncleared-timer": ["src/agent/control/socket.ts", "clearTimeout(deadline)", "{}"],
  "missing-escape": ["src/platform/text/csv.ts", "disarm(cell)", "(cell)"],
  "negated-condition": ["src/service/endpoints/expectation.ts", "range === null", "!(range === null)"],
  "dropped-operand": ["src/operator/logins/sign-in.ts", "url !== null && url.origin === base.origin", "url !== null"],
};

it.each(MUTATION_KINDS)("mutationsOf: %s", (kind) => {
  const [path, mistake, replacement] = PLANTED[kind];
  const source = readFileSync(join(root, path), "utf8");
  const planted = mutationsOf(path, source, [kind]).map(({ start, end, replacement: by }) => [
    source.slice(start, end),
    by,
  ]);
  expect(planted).toContainEqual([mistake, replacement]);
});

it("mutationsOf: types, and code without effect → no mutation", () => {
  const source = 'type Status = 500; same(a, a); query.where("id", "=", id); socket.on("close", () => end());';
  const kinds = mutationsOf("a.ts", source, ["swapped-arguments", "wrong-status", "dropped-where"]);
  expect(kinds.map(({ kind }) => kind)).toEqual(["dropped-where"]);
});
