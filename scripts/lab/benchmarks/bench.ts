/** Measures the agent's budgets on the release bundle, next to bare Node and openssl in the same run. Exits 0 if all budgets are met. */
import { readFlags, refuseFlags } from "../../support/flags.ts";
import { freshBuild } from "../support/release.ts";
import { measureBurst, measureChange } from "./edits.ts";
import { measureIdle } from "./idle.ts";
import type { Bench, Row } from "./row.ts";
import { measureBoot, measureHashing } from "./start.ts";

const measurements = {
  boot: measureBoot,
  idle: measureIdle,
  change: measureChange,
  hashing: measureHashing,
  burst: measureBurst,
};

const USAGE = `Usage: scripts/lab/bench [options]

Measures the agent's budgets: a quarter of an hour on an idle machine. Exits 0 if all are met.

  --only NAME    only this measurement; may be repeated: ${Object.keys(measurements).join(", ")}
  --quick        fewer rounds: two minutes
  --bundle FILE  a launcher to measure instead of a new build
  --json         the rows as JSON`;

const options = readFlags(USAGE, {
  only: { type: "string", multiple: true },
  quick: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  bundle: { type: "string" },
});

const heading = {
  what: "WHAT",
  measured: "MEASURED",
  baseline: "BASELINE",
  ratio: "RATIO",
  budget: "BUDGET",
  verdict: "",
};
const names = options.only ?? Object.keys(measurements);
for (const name of names) {
  if (!Object.hasOwn(measurements, name)) refuseFlags(USAGE, `--only '${name}' is no measurement`);
}
if (!options.json) console.log(lineOf(heading));
const bundle = options.bundle ?? freshBuild("robot-policy-agent");
const bench: Bench = { bundle, quick: options.quick, note };
const rows: Row[] = [];
for (const [name, measure] of Object.entries(measurements)) {
  if (!names.includes(name)) continue;
  note(`${name} …`);
  const measured = await measure(bench);
  if (!options.json) for (const row of measured) console.log(lineOf(row));
  rows.push(...measured);
}
if (options.json) console.log(JSON.stringify(rows, null, 2));
process.exitCode = rows.some(({ verdict }) => verdict === "OVER") ? 1 : 0;

/** At most 100 columns. */
function lineOf({ what, measured, baseline, ratio, budget, verdict }: Row | typeof heading): string {
  return [
    what.padEnd(36),
    measured.padStart(12),
    baseline.padStart(10),
    (typeof ratio === "number" ? ratio.toFixed(2) : (ratio ?? "")).padStart(6),
    budget.padEnd(9),
    verdict,
  ]
    .join("  ")
    .trimEnd();
}

function note(text: string): void {
  if (process.stderr.isTTY) console.error(text);
}
