import type * as z from "zod";
import { describe, expect, it } from "vitest";

import { deploymentCreateSchema } from "../../../src/api/deployments.ts";
import {
  fleetCreateSchema,
  fleetModelGenerationViewSchema,
  fleetModelUpdateSchema,
  fleetRobotCountsSchema,
  fleetUpdateViewSchema,
  fleetViewSchema,
  readinessEstimateSchema,
} from "../../../src/api/fleets.ts";
import { apiKeyCreateSchema } from "../../../src/api/keys.ts";
import { robotViewSchema } from "../../../src/api/robot-views.ts";
import { robotSetupSchema } from "../../../src/api/robots.ts";
import { errorBodySchema, validationErrorBodySchema } from "../../../src/api/wire/errors.ts";
import { codePoints } from "../../../src/api/wire/text.ts";

type Json = Record<string, unknown>;

const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;
const setup: Json = { name: "r1", robot_type_id: "so101", region: "us-west-2", configuration_digest: DIGEST };
const window: Json = { starts_at: "2098-01-01T00:00:00Z", ends_at: "2098-01-02T00:00:00+02:00" };
const fleet: Json = {
  name: "f1",
  subject: "pi0.5",
  selection: { robots: ["r1"] },
  peak_active_robots: 1,
  readiness_mode: "on_demand",
};
const counts: Json = { registered: 1, ready: 0, active: 0, waiting: 1, blocked: 0 };
const estimate: Json = { lower_seconds: 0, upper_seconds: 60, updated_at: "2026-01-01T00:00:00Z" };
const generation: Json = { subject: "pi0.5", generation_id: "gen_1", status: "active" };
const fleetView: Json = {
  id: "fleet_1",
  name: "f1",
  subject: "pi0.5",
  readiness_mode: "on_demand",
  peak_active_robots: 1,
  status: "ready",
  robots: counts,
};

const text = (length: number) => "é".repeat(length);
const emoji = (length: number) => "😀".repeat(length);
const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
const windows = (count: number) => Array.from({ length: count }, () => window);
const member =
  (base: Json, name: string) =>
  (value: unknown): Json =>
    Object.assign({}, base, { [name]: value });
const withSelection = (selection: Json) => ({ ...fleet, selection });
const withSelector = (selector: Json) => withSelection({ selector });

/** Section 8 of the service document, one row each: a value at the limit, and one beyond. */
const LIMITS: readonly (readonly [string, z.ZodType, readonly unknown[], readonly unknown[]])[] = [
  [
    "Robot name",
    robotSetupSchema,
    [text(1), text(64), emoji(64)].map(member(setup, "name")),
    ["", text(65), emoji(65)].map(member(setup, "name")),
  ],
  [
    "Robot robot_type_id",
    robotSetupSchema,
    [text(1), text(256)].map(member(setup, "robot_type_id")),
    ["", text(257)].map(member(setup, "robot_type_id")),
  ],
  [
    "Robot site",
    robotSetupSchema,
    [text(1), text(128), emoji(128)].map(member(setup, "site")),
    ["", text(129)].map(member(setup, "site")),
  ],
  [
    "Robot configuration_digest",
    robotSetupSchema,
    [DIGEST, `sha256:${"0".repeat(64)}`].map(member(setup, "configuration_digest")),
    ["", DIGEST.slice(7), DIGEST.toUpperCase(), `${DIGEST}0`, DIGEST.slice(0, -1), `${DIGEST}\n`, ` ${DIGEST}`].map(
      member(setup, "configuration_digest"),
    ),
  ],
  [
    "Fleet name",
    fleetCreateSchema,
    [text(1), text(128), emoji(128)].map(member(fleet, "name")),
    ["", text(129)].map(member(fleet, "name")),
  ],
  ["Fleet subject", fleetCreateSchema, [{ ...fleet, subject: "x" }], [{ ...fleet, subject: "" }]],
  [
    "Fleet peak_active_robots",
    fleetCreateSchema,
    [1, 1000].map(member(fleet, "peak_active_robots")),
    [0, -1, 1.5].map(member(fleet, "peak_active_robots")),
  ],
  [
    "Fleet operating_windows",
    fleetCreateSchema,
    [windows(0), windows(366)].map(member(fleet, "operating_windows")),
    [windows(367)].map(member(fleet, "operating_windows")),
  ],
  [
    "Selection robots",
    fleetCreateSchema,
    [1, 1000].map((count) => withSelection({ robots: Array(count).fill("r") })),
    [0, 1001].map((count) => withSelection({ robots: Array(count).fill("r") })),
  ],
  [
    "Selector site",
    fleetCreateSchema,
    [text(1), emoji(128), null].map((site) => withSelector({ site })),
    ["", text(129)].map((site) => withSelector({ site })),
  ],
  [
    "Selector robot_type_id",
    fleetCreateSchema,
    [text(1), text(256), null].map((robotTypeId) => withSelector({ robot_type_id: robotTypeId })),
    ["", text(257)].map((robotTypeId) => withSelector({ robot_type_id: robotTypeId })),
  ],
  [
    "Selector labels",
    fleetCreateSchema,
    [0, 32].map((count) => withSelector({ labels: labels(count) })),
    [withSelector({ labels: labels(33) }), withSelector({ labels: { k: 1 } })],
  ],
  ["Update model subject", fleetModelUpdateSchema, [{ subject: "x" }], [{ subject: "" }, {}]],
  [
    "ReadinessEstimate lower_seconds, upper_seconds",
    readinessEstimateSchema,
    [estimate],
    [
      { ...estimate, lower_seconds: -1 },
      { ...estimate, upper_seconds: -1 },
    ],
  ],
  [
    "FleetRobotCounts members",
    fleetRobotCountsSchema,
    [counts],
    Object.keys(counts).map((name) => member(counts, name)(-1)),
  ],
];

describe("limits of the service document", () => {
  it.each(LIMITS)("%s: at the limit → accepted", (_row, schema, accepted) => {
    expect(accepted.filter((value) => !schema.safeParse(value).success)).toEqual([]);
  });
  it.each(LIMITS)("%s: beyond the limit → refused", (_row, schema, _accepted, refused) => {
    expect(refused.filter((value) => schema.safeParse(value).success)).toEqual([]);
  });
});

/** Sections 2.1 to 2.3: a complete value, and its optional members. Every other member is required. */
const RESOURCES: readonly (readonly [string, z.ZodType, Json, readonly string[]])[] = [
  [
    "robot registration",
    robotSetupSchema,
    { ...setup, site: "lab", labels: { k: "v" }, contract: { a: [1] } },
    ["site", "labels", "contract"],
  ],
  ["FleetCreate", fleetCreateSchema, { ...fleet, operating_windows: [window] }, ["operating_windows"]],
  [
    "FleetView",
    fleetViewSchema,
    { ...fleetView, blocker: null, readiness_estimate: estimate, active_model: generation, update: generation },
    ["blocker", "readiness_estimate", "active_model", "update"],
  ],
  ["ReadinessEstimate", readinessEstimateSchema, estimate, []],
  ["FleetRobotCounts", fleetRobotCountsSchema, counts, []],
  ["FleetModelGenerationView", fleetModelGenerationViewSchema, generation, []],
  ["FleetUpdateView", fleetUpdateViewSchema, { ...generation, blocker: "no endpoint" }, ["blocker"]],
  ["model update", fleetModelUpdateSchema, { subject: "pi0.5" }, []],
  ["deployment", deploymentCreateSchema, { model: "pi0.5", robot: "r1" }, []],
  ["API key", apiKeyCreateSchema, { label: "lab" }, []],
  [
    "HTTPValidationError",
    validationErrorBodySchema,
    { detail: [{ loc: ["body", 0], msg: "m", type: "t", input: null, ctx: {} }] },
    [],
  ],
];

describe("resources of the service document", () => {
  it.each(RESOURCES)("%s: complete", (_name, schema, complete) => {
    expect(schema.safeParse(complete).error).toBeUndefined();
  });
  it.each(RESOURCES)("%s: only the optional members may be absent", (_name, schema, complete, optional) => {
    const absentable = Object.keys(complete).filter((absent) => {
      const rest = Object.fromEntries(Object.entries(complete).filter(([name]) => name !== absent));
      return schema.safeParse(rest).success;
    });
    expect(absentable).toEqual(optional);
  });
});

describe("fleetCreateSchema", () => {
  it.each([
    ["FleetCreate", { ...fleet, zz: 1 }],
    ["FleetRobotSelection", withSelection({ robots: ["r"], zz: 1 })],
    ["RobotSelector", withSelector({ zz: 1 })],
    ["OperatingWindow", { ...fleet, operating_windows: [{ ...window, zz: 1 }] }],
  ])("%s: unknown members → refused", (_name, value) => {
    expect(fleetCreateSchema.safeParse(value).success).toBe(false);
  });
  it.each([
    ["both", { robots: ["r"], selector: {} }],
    ["neither", {}],
    ["nulls", { robots: null, selector: null }],
    ["another membership", { robots: ["r"], membership: "live" }],
  ])("selection: refuses %s", (_name, selection) => {
    expect(fleetCreateSchema.safeParse(withSelection(selection)).success).toBe(false);
  });
  it("missing members → the defaults of the service document", () => {
    expect(fleetCreateSchema.parse(fleet)).toEqual({
      ...fleet,
      selection: { robots: ["r1"], membership: "snapshot" },
      operating_windows: [],
    });
  });
  it("fleetViewSchema: unknown members → refused", () => {
    expect(fleetViewSchema.strict().safeParse({ ...fleetView, zz: 1 }).success).toBe(false);
  });
});

describe("robotSetupSchema", () => {
  it("null → absent, because existing clients send it", () => {
    expect(robotSetupSchema.safeParse({ ...setup, site: null, labels: null, contract: null }).success).toBe(true);
  });
  it("unknown members → ignored", () => {
    expect(robotSetupSchema.parse({ ...setup, zz: 1 })).toEqual(setup);
  });
  it.each(["a\0b", "\ud800", "\udc00x"])("text that no store can hold → refused: %j", (name) => {
    expect(robotSetupSchema.safeParse({ ...setup, name }).success).toBe(false);
  });
  it("labels and region → limited, although the service document has no limit", () => {
    const beyond = [
      { labels: labels(257) },
      { labels: { ["k".repeat(257)]: "v" } },
      { labels: { k: "v".repeat(1025) } },
      { region: "r".repeat(257) },
    ];
    expect(beyond.filter((members) => robotSetupSchema.safeParse({ ...setup, ...members }).success)).toEqual([]);
    expect(robotSetupSchema.safeParse({ ...setup, labels: labels(256), region: "" }).success).toBe(true);
    expect(robotSetupSchema.safeParse({ ...setup, labels: { [text(256)]: emoji(1024) } }).success).toBe(true);
  });

  it("labels → limited in total length, in code points", () => {
    const full = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`k${10 + index}`, emoji(1021)]));
    expect(robotSetupSchema.safeParse({ ...setup, labels: full }).success).toBe(true);
    expect(robotSetupSchema.safeParse({ ...setup, labels: { ...full, k: "" } }).error?.issues).toMatchObject([
      { path: ["labels"], message: "labels have at most 16384 characters altogether" },
    ]);
  });
});

describe("robotViewSchema", () => {
  const view = { id: "rob_1", name: "r1", robot_type_id: "t", region: "x", created_at: "2026-01-01T00:00:00Z" };
  it("missing or unknown members → accepted, as other services send them", () => {
    expect(robotViewSchema.parse({ ...view, future: 1 })).toEqual({ ...view, site: null, labels: {} });
  });
  it("null members → accepted", () => {
    expect(robotViewSchema.parse({ ...view, site: null, labels: null })).toEqual({ ...view, site: null, labels: {} });
  });
  it.each(Object.keys(view))("without %s → refused", (absent) => {
    const rest = Object.fromEntries(Object.entries(view).filter(([name]) => name !== absent));
    expect(robotViewSchema.safeParse(rest).success).toBe(false);
  });
});

describe("errorBodySchema", () => {
  it("FastAPI's errors and ours → accepted", () => {
    expect(errorBodySchema.parse({ detail: "Not Found" })).toEqual({ detail: "Not Found" });
    expect(errorBodySchema.safeParse({ detail: "x", message: "x", code: "NotFound" }).success).toBe(true);
  });
});

describe("codePoints", () => {
  it.each([
    ["", 0],
    ["abc", 3],
    ["😀😀", 2],
    ["e\u0301", 2],
    ["\ud800", 1],
    ["\udc00\ud800", 2],
    ["\ud800a", 2],
  ])("%j: %i", (value, length) => {
    expect(codePoints(value)).toBe(length);
  });
});
