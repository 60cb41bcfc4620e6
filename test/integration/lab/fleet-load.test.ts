/**
 * scripts/lab/fleet-load with a few robots: it measures, and nothing is lost when the service is killed.
 *
 * @module-tag needs/night
 */
import { join } from "node:path";

import { expect, it } from "vitest";

import { execute } from "../../support/programs/execute.ts";
import { SERVICE_PROGRAM } from "../../support/programs/programs-built.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";

const SCRIPT = join(import.meta.dirname, "../../../scripts/lab/load/fleet-load.ts");
/** The script waits for the states of several scenes, one after another. */
const LIMIT_MS = 4 * PATIENCE_MS;

interface PrintedScene {
  readonly title: string;
  readonly lost: number;
  readonly taken: readonly { readonly kind: string; readonly count: number }[];
}

it("fleet-load: enrolments, reports, changes, and a killed service → measured, no robot lost", async () => {
  const argv = ["--quick", "--robots", "8", "--seconds", "1", "--large", "40", "--program", SERVICE_PROGRAM, "--json"];
  const options = { may_fail: true, limitMs: LIMIT_MS };
  const { code, stdout, stderr } = await execute([process.execPath, SCRIPT, ...argv], options);
  expect(code, `${stderr}${stdout}`).toBe(0);
  const scenes: readonly PrintedScene[] = JSON.parse(stdout);
  expect(scenes.map(({ title, lost }) => [title, lost])).toEqual([
    ["8 robots enroll", 0],
    ["heartbeats each 1 s", 0],
    ["the same beside 50 setups/s", 0],
    ["all return after 1 s", 0],
    ["40 robots in one organization", 0],
  ]);
  const kinds = (scene: PrintedScene | undefined) => scene?.taken.map(({ kind }) => kind);
  // The first scene ends with the last registration, before or after the first heartbeats.
  expect(kinds(scenes[0])?.filter((kind) => kind !== "heartbeat")).toEqual(["enroll: poll", "enroll: start", "setup"]);
  expect(kinds(scenes[1])).toEqual(["heartbeat"]);
  // Half of the robots had changed.
  expect(kinds(scenes[3])).toEqual(["heartbeat", "setup"]);
});
