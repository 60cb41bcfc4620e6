import { useMemo } from "preact/hooks";

import type { EndpointView } from "../../../api/endpoints.ts";
import type { ModelView } from "../../../api/models.ts";
import { useSettled } from "../data/use-settled.ts";
import { Page } from "../parts/page.tsx";
import { DataTable } from "../parts/table/data-table.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { number, present } from "../parts/text.ts";
import type { OfferedModel } from "./columns.tsx";
import { COLUMNS, stateOf } from "./columns.tsx";
import { checkpointsOf, modelPath, nameOf, useEndpoints, useModels } from "./data.ts";

const FILTERING: Filtering<OfferedModel> = {
  filters: [
    { id: "vendor", label: "Vendor", valuesOf: ({ model: { vendor } }) => present(vendor) },
    { id: "region", label: "Region", valuesOf: ({ model }) => [...regionsOf(model)] },
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
  const list = models.state === "ready" ? models.value.models : undefined;
  const known = endpoints.state === "ready" ? endpoints.value.items : undefined;
  const rows = useMemo(() => join(list ?? [], known), [list, known]);
  return (
    <Page title="Models" count={list === undefined ? undefined : number(list.length)}>
      <DataTable
        data={models}
        emptyTitle="The catalog is empty"
        empty={
          <p>
            The administrator of the service lists models in a catalog file, names that file as <code>models</code> in
            the service's configuration, and applies it with <code>robot-policy-service models apply</code>.
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
    </Page>
  );
}

function join(models: readonly ModelView[], known: readonly EndpointView[] | undefined): readonly OfferedModel[] {
  return models.map((model) => ({
    model,
    endpoints: known?.filter(({ model_slug: modelSlug }) => modelSlug === model.slug) ?? null,
  }));
}

function regionsOf(model: ModelView): ReadonlySet<string> {
  return new Set(checkpointsOf(model).flatMap(({ regions }) => regions ?? []));
}
