/**
 * Runs the life of a fleet and prints each view: the real service, two small real inference servers that load, fail and recover, and
 * probes every 100 ms instead of every 10 s.
 */
import type { StoreLocation } from "../src/service/kernel/store/store.ts";
import { walkFleet } from "../test/support/operator/fleet-walk.ts";
import { scratchFolder } from "./support/end-of-script.ts";
import { readFlags } from "./support/flags.ts";

const USAGE = `Usage: node scripts/fleet-walk.ts [--database URL]

Runs the life of a fleet and prints each view.

  --database  postgres://USER:PASSWORD@HOST/EMPTY_DATABASE instead of SQLite`;

const options = readFlags(USAGE, { database: { type: "string" } });

const folder = scratchFolder("robot-policy-walk-");
const store: StoreLocation =
  options.database === undefined
    ? { kind: "sqlite", dataDirectory: folder }
    : { kind: "postgres", url: options.database };
const beganMs = performance.now();
for await (const { title, view } of walkFleet(store)) {
  const elapsed = ((performance.now() - beganMs) / 1000).toFixed(1);
  console.log(`\n\u25B6 ${elapsed} s  ${title}: ${view.status}`);
  console.log(JSON.stringify(view, null, 2).replaceAll(/^/gm, "  "));
}
