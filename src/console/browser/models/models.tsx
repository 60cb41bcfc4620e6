import { useMemo } from "preact/hooks";

import type { EndpointView } from "../../../api/endpoints.ts";
import type { ModelView } from "../../../api/models.ts";
import { useSettled } from "../data/use-settled.ts";
import { None } from "../parts/none.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { type Column, countColumn, textColumn, timeColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { number, present } from "../parts/text.ts";
import { checkpointsOf, modelPath, nameOf, useEndpoints, useModels } from "./data.ts";

/** A model with its endpoints; null before they are loaded. */
interface OfferedModel {
  readonly model: ModelView;
  readonly endpoints: readonly EndpointView[] | null;
}

const FILTERING: Filtering<OfferedModel> = {
  filters: [
    { id: "vendor", label: "Vendor", valuesOf: ({ model: { vendor } }) => present(vendor) },
    {
      id: "region",
      label: "Region",
      valuesOf: ({ model }) => [...new Set(checkpointsOf(model).flatMap(({ regions }) => regions ?? []))],
    },
    { id: "endpoints", label: "Endpoints", valuesOf: ({ endpoints }) => [stateOf(endpoints)] },
  ],
  textOf: ({ model }) =>
    [
      model.slug,
      nameOf(model),
      model.vendor ?? "",
      model.model_type ?? "",
      model.license_tier ?? "",
      ...checkpointsOf(model).map(({ id }) => id),
    ].join(" "),
};

/** `/models`: the catalog, with regions and health of the endpoints. */
export function Models() {
  const models = useModels();
  const endpoints = useEndpoints();
  const isSettled = useSettled([models, endpoints]);
  const list = models.value?.models;
  const known = endpoints.value?.items;
  const rows = useMemo(() => join(list ?? [], known), [list, known]);
  return (
    <ListPage
      title="Models"
      data={models}
      emptyTitle="The catalog is empty"
      empty={
        <p>
          The administrator of the service lists models in a catalog file, names that file as <code>models</code> in the
          service's configuration, and applies it with <code>robot-policy-service models apply</code>.
        </p>
      }
      noun="model"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ model }) => model.slug}
      hrefOf={({ model }) => modelPath(model.slug)}
      sort="name"
      isLoading={!isSettled}
      cardHeight="8.5rem"
      filtering={FILTERING}
      hint="Name, slug, vendor, checkpoint"
    />
  );
}

function join(models: readonly ModelView[], known: readonly EndpointView[] | undefined): readonly OfferedModel[] {
  return models.map((model) => ({
    model,
    endpoints: known?.filter(({ model_slug: modelSlug }) => modelSlug === model.slug) ?? null,
  }));
}

const COLUMNS: readonly Column<OfferedModel>[] = [
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

function stateOf(endpoints: readonly EndpointView[] | null): string {
  if (endpoints === null) return "unknown";
  if (endpoints.length === 0) return "none";
  return STATES.find((state) => endpoints.some(({ status }) => status === state)) ?? "unknown";
}

function Endpoints({ endpoints }: Pick<OfferedModel, "endpoints">) {
  if (endpoints === null) return <None />;
  if (endpoints.length === 0) return <StatusBadge status="unknown" word="none" />;
  const state = stateOf(endpoints);
  const count = endpoints.filter(({ status }) => status === state).length;
  const all = count === endpoints.length ? "" : ` of ${number(endpoints.length)}`;
  return <StatusBadge status={state} word={`${number(count)}${all} ${state}`} />;
}
