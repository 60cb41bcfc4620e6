/** What operators see of models: their checkpoints, what these need of a robot, and the health of their endpoints. */
import type { EndpointView } from "../api/endpoints.ts";
import type { ModelView } from "../api/models.ts";
import { type Column, exact, type Fact, past, present, type State, type View } from "./view.ts";

/** A model with its endpoints; null where their health is not known. */
export interface OfferedModel {
  readonly model: ModelView;
  readonly endpoints: readonly EndpointView[] | null;
}

/** A model with its own of all endpoints of the catalog. */
export function offeredModel(endpoints: readonly EndpointView[] | null): (model: ModelView) => OfferedModel {
  const bySlug = Map.groupBy(endpoints ?? [], ({ model_slug: slug }) => slug);
  return (model) => ({ model, endpoints: endpoints === null ? null : (bySlug.get(model.slug) ?? []) });
}

export const MODELS: View<OfferedModel> = {
  noun: "model",
  columns: [
    { name: "model", show: ({ model }) => model.slug },
    { name: "name", show: ({ model }) => model.display_name ?? null, weight: 2 },
    { name: "health", show: ({ endpoints }) => healthState(endpoints), sortKey: urgencyOf },
    { name: "vendor", show: ({ model }) => model.vendor ?? null, weight: 2, from: "wide" },
    { name: "type", show: ({ model }) => model.model_type ?? null, from: "medium" },
    { name: "license", show: ({ model }) => model.license_tier ?? null, from: "medium" },
    { name: "checkpoints", show: ({ model }) => model.checkpoints?.length ?? null, from: "medium" },
    { name: "regions", show: ({ model }) => regionsOf(model).join(" "), from: "wide" },
  ],
  filters: [
    { name: "health", valuesOf: ({ endpoints }) => [healthOf(endpoints)] },
    { name: "vendor", valuesOf: ({ model }) => present(model.vendor) },
    { name: "region", valuesOf: ({ model }) => regionsOf(model) },
  ],
  factsOf: ({ model }) => [
    ["model", exact(model.slug)],
    ["name", model.display_name ?? null],
    ["vendor", model.vendor ?? null],
    ["type", model.model_type ?? null],
    ["license", model.license_tier ?? null],
    ["in the catalog", past(model.created_at)],
  ],
  empty: "The catalog has no models yet",
};

function regionsOf({ checkpoints }: ModelView): readonly string[] {
  return [...new Set((checkpoints ?? []).flatMap(({ regions }) => regions ?? []))].sort();
}

const HEALTHS = ["unhealthy", "no endpoint", "unknown", "healthy"] as const;

/** That of the worst endpoint of all checkpoints. */
function healthOf(endpoints: OfferedModel["endpoints"]): (typeof HEALTHS)[number] {
  if (endpoints === null) return "unknown";
  if (endpoints.length === 0) return "no endpoint";
  return HEALTHS.find((health) => endpoints.some(({ status }) => status === health)) ?? "unknown";
}

function urgencyOf({ endpoints }: OfferedModel): number {
  return HEALTHS.indexOf(healthOf(endpoints));
}

/** `healthy`, `1/3 healthy`: null where it is not known. */
function healthState(endpoints: OfferedModel["endpoints"]): State | null {
  if (endpoints === null) return null;
  if (endpoints.length === 0) return { kind: "state", state: "no endpoint", tone: "blocked" };
  const healthy = endpoints.filter(({ status }) => status === "healthy").length;
  if (healthy === 0 || healthy === endpoints.length) return { kind: "state", state: healthOf(endpoints) };
  return { kind: "state", state: `${healthy}/${endpoints.length} healthy`, tone: "degraded" };
}

export type Checkpoint = NonNullable<ModelView["checkpoints"]>[number];

/** What a robot needs for it; empty where it needs nothing. Requirements that are not known are shown as JSON. */
export function checkpointFacts({ created_at: at, requirements }: Checkpoint): readonly Fact[] {
  return [["created", past(at)], ...Object.entries(requirements ?? {}).map(needFact)];
}

function needFact([name, value]: readonly [string, unknown]): Fact {
  switch (name) {
    case "robot_types":
      return ["needs type", textsIn(value).join(" or ")];
    case "camera_roles":
      return ["needs cameras", textsIn(value).join(", ")];
    case "state_axes":
      return ["needs state axes", value === null ? "" : axesText(value)];
    case "action_axes":
      return ["needs action axes", value === null ? "" : axesText(value)];
  }
  const text = typeof value === "string" ? value : JSON.stringify(value ?? "");
  return [`needs ${name.replaceAll("_", " ")}`, text === '""' ? "" : text];
}

/** Requirements on a state or action vector; `any` if there are none. The service document leaves their form open. */
export function axesText(value: unknown): string {
  const axes = new Map(Object.entries(value ?? {}));
  const units = textsIn(axes.get("units")).map((unit) => (unit === "1" ? "ratio" : unit));
  const names = textsIn(axes.get("names"));
  const parts = [
    countText(axes.get("minimum_count"), axes.get("maximum_count")),
    units.length === 0 ? "" : `each in ${units.join(" or ")}`,
    names.length === 0 ? "" : `among them ${names.join(", ")}`,
  ];
  return parts.filter((part) => part !== "").join("; ") || "any";
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function countText(minimum: unknown, maximum: unknown): string {
  const least = typeof minimum === "number" ? minimum : 0;
  const most = typeof maximum === "number" ? maximum : null;
  if (most !== null && most === least) return `exactly ${most}`;
  if (most !== null) return least === 0 ? `at most ${most}` : `${least} to ${most}`;
  return least === 0 ? "" : `at least ${least}`;
}

type ShownEndpoint = Pick<EndpointView, "region" | "status" | "since" | "checked_at" | "detail"> & {
  /** The model, in a table with endpoints of several models. */
  readonly of?: string;
};

export const ENDPOINT_COLUMNS: readonly Column<ShownEndpoint>[] = [
  { name: "endpoint", show: ({ region }) => region },
  { name: "for", show: (endpoint) => endpoint.of ?? null, weight: 2 },
  { name: "health", show: ({ status }) => ({ kind: "state", state: status }) },
  { name: "since", show: ({ since }) => past(since) },
  { name: "checked", show: ({ checked_at: at }) => past(at), from: "medium" },
  { name: "last failure", show: ({ detail }) => detail, weight: 2 },
];
