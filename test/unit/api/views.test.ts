/** What clients accept as the answer of a service: every member but the optional ones, and of lists of robots also what is new. */
import type * as z from "zod";
import { describe, expect, it } from "vitest";

import {
  fleetModelGenerationViewSchema,
  fleetRobotCountsSchema,
  fleetUpdateViewSchema,
  fleetViewSchema,
  readinessEstimateSchema,
} from "../../../src/api/fleets.ts";
import { robotViewSchema } from "../../../src/api/robot-views.ts";
import { errorBodySchema, validationErrorBodySchema } from "../../../src/api/wire/errors.ts";

type Json = Record<string, unknown>;

const counts: Json = { registered: 1, ready: 0, active: 0, waiting: 1, blocked: 0 };
const estimate: Json = { lower_seconds: 0, upper_seconds: 60, updated_at: "2026-01-01T00:00:00Z" };
const generation: Json = { subject: "pi0.5", generation_id: "gen_1", status: "active" };
const fleet: Json = {
  id: "fleet_1",
  name: "f1",
  subject: "pi0.5",
  readiness_mode: "on_demand",
  peak_active_robots: 1,
  status: "ready",
  robots: counts,
};
const robot: Json = { id: "rob_1", name: "r1", robot_type_id: "t", region: "x", created_at: "2026-01-01T00:00:00Z" };

/** Sections 2.1 to 2.3 of the service document: a complete value, and its optional members. */
const VIEWS: readonly (readonly [string, z.ZodType, Json, readonly string[]])[] = [
  ["RobotView", robotViewSchema, { ...robot, site: "lab", labels: { k: "v" } }, ["site", "labels"]],
  [
    "FleetView",
    fleetViewSchema,
    { ...fleet, blocker: null, readiness_estimate: estimate, active_model: generation, update: generation },
    ["blocker", "readiness_estimate", "active_model", "update"],
  ],
  ["ReadinessEstimate", readinessEstimateSchema, estimate, []],
  ["FleetRobotCounts", fleetRobotCountsSchema, counts, []],
  ["FleetModelGenerationView", fleetModelGenerationViewSchema, generation, []],
  ["FleetUpdateView", fleetUpdateViewSchema, { ...generation, blocker: "no endpoint" }, ["blocker"]],
  [
    "HTTPValidationError",
    validationErrorBodySchema,
    { detail: [{ loc: ["body", 0], msg: "m", type: "t", input: null, ctx: {} }] },
    [],
  ],
];

describe("views", () => {
  it.each(VIEWS)("%s → only the optional members may be absent", (_name, schema, complete, optional) => {
    expect(schema.safeParse(complete).error).toBeUndefined();
    const absentable = Object.keys(complete).filter((absent) => {
      const rest = Object.fromEntries(Object.entries(complete).filter(([name]) => name !== absent));
      return schema.safeParse(rest).success;
    });
    expect(absentable).toEqual(optional);
  });

  it("robotViewSchema: missing, null or unknown members → accepted, as other services send them", () => {
    const read = { ...robot, site: null, labels: {} };
    expect(robotViewSchema.parse({ ...robot, future: 1 })).toEqual(read);
    expect(robotViewSchema.parse({ ...robot, site: null, labels: null })).toEqual(read);
  });

  it("errorBodySchema: FastAPI's errors and ours → accepted", () => {
    expect(errorBodySchema.parse({ detail: "Not Found" })).toEqual({ detail: "Not Found" });
    expect(errorBodySchema.safeParse({ detail: "x", message: "x", code: "NotFound" }).success).toBe(true);
  });
});
