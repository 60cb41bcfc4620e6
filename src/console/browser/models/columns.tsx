import type { EndpointView } from "../../../api/endpoints.ts";
import type { ModelView } from "../../../api/models.ts";
import { None } from "../parts/none.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import type { Column } from "../parts/table/columns.tsx";
import { countColumn, textColumn, timeColumn } from "../parts/table/columns.tsx";
import { number } from "../parts/text.ts";
import { checkpointsOf, nameOf } from "./data.ts";

/** A model with its endpoints; null before they are loaded. */
export interface OfferedModel {
  readonly model: ModelView;
  readonly endpoints: readonly EndpointView[] | null;
}

export const COLUMNS: readonly Column<OfferedModel>[] = [
  textColumn({ id: "name", name: "Model", track: "minmax(7.5rem, 1.6fr)" }, ({ model }) => nameOf(model)),
  {
    id: "slug",
    name: "Slug",
    track: "minmax(6rem, 1fr)",
    cell: ({ model }) => <span class="mono over">{model.slug}</span>,
    sortBy: ({ model }) => model.slug,
  },
  {
    id: "endpoints",
    name: "Endpoints",
    track: "10rem",
    isWideOnCard: true,
    isPlainOnCard: true,
    cell: ({ endpoints }) => <Endpoints endpoints={endpoints} />,
    sortBy: ({ endpoints }) => STATES.indexOf(stateOf(endpoints)),
  },
  textColumn({ id: "vendor", name: "Vendor", track: "minmax(5rem, 1fr)", from: "narrow" }, ({ model }) => model.vendor),
  textColumn(
    { id: "type", name: "Type", track: "minmax(5.5rem, 1.2fr)", from: "medium" },
    ({ model }) => model.model_type,
  ),
  textColumn({ id: "license", name: "License", track: "6rem", from: "wide" }, ({ model }) => model.license_tier),
  countColumn({ id: "checkpoints", name: "Checkpoints", track: "6rem" }, ({ model }) => checkpointsOf(model).length),
  timeColumn(
    { id: "newest", name: "Newest", track: "6rem", from: "medium" },
    ({ model }) => checkpointsOf(model)[0]?.created_at,
  ),
];

/** Combined states of a model's endpoints, most urgent first. */
const STATES: readonly string[] = ["unhealthy", "none", "unknown", "healthy"];

export function stateOf(endpoints: readonly EndpointView[] | null): string {
  if (endpoints === null) return "unknown";
  if (endpoints.length === 0) return "none";
  return STATES.find((state) => endpoints.some(({ status }) => status === state)) ?? "unknown";
}

function Endpoints({ endpoints }: Pick<OfferedModel, "endpoints">) {
  if (endpoints === null) return <None />;
  if (endpoints.length === 0) return <StatusBadge status="unknown" word="none" />;
  const state = stateOf(endpoints);
  const count = endpoints.filter(({ status }) => status === state).length;
  const word = count === endpoints.length ? `${number(count)} ${state}` : `${count} of ${endpoints.length} ${state}`;
  return <StatusBadge status={state} word={word} />;
}
