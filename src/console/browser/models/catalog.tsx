/** The catalog of models: what pages ask of it, the field that chooses a model, and the table of endpoints. */
import type * as z from "zod";

import type { EndpointView } from "../../../api/endpoints.ts";
import type { FleetEndpointView } from "../../../api/fleet-details.ts";
import type { checkpointViewSchema, modelListSchema, ModelView } from "../../../api/models.ts";
import { type Data, useData } from "../data/query.ts";
import type { FieldSpec, Option } from "../parts/form/fields.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { SmallTable } from "../parts/table/table.tsx";

export type Checkpoint = z.output<typeof checkpointViewSchema>;

export function useModels(): Data<z.output<typeof modelListSchema>> {
  return useData("/v1/models", ["models"]);
}

/** All endpoints of the catalog with their health. */
export function useEndpoints(): Data<{ readonly items: readonly EndpointView[] }> {
  return useData("/v1/endpoints", ["models", "fleets"]);
}

export function modelPath(slug: string): string {
  return `/models/${encodeURIComponent(slug)}`;
}

export function nameOf({ display_name: displayName, slug }: ModelView): string {
  return displayName ?? slug;
}

/** Newest first. */
export function checkpointsOf({ checkpoints }: ModelView): readonly Checkpoint[] {
  return [...(checkpoints ?? [])].sort(
    (left, right) => Date.parse(right.created_at ?? "") - Date.parse(left.created_at ?? "") || 0,
  );
}

/** Chooses a model (its default checkpoint) or a checkpoint. Without the scope to read the catalog it is a text field. */
export function useSubjectField(name: string): FieldSpec {
  const models = useModels();
  const field = { name, label: "Model", input: { required: true } };
  if (models.state === "failed") return { ...field, hint: "The slug of a model, or the id of a checkpoint." };
  const list = models.value?.models ?? [];
  const options = [{ value: "", word: "Choose a model" }, ...list.flatMap(optionsOf)];
  const isEmpty = list.length === 0 && models.state === "ready";
  return { ...field, kind: "select", options, hint: isEmpty ? "The catalog of this service is empty." : undefined };
}

function optionsOf(model: ModelView): readonly Option[] {
  const { slug, default_checkpoint_id: standard, checkpoints } = model;
  const group = nameOf(model);
  const word = standard === null || standard === undefined ? slug : `${slug} (now ${standard})`;
  return [{ value: slug, word, group }, ...(checkpoints ?? []).map(({ id }) => ({ value: id, word: id, group }))];
}

type Endpoint = Omit<FleetEndpointView, "generation_id">;

interface EndpointTableProps<E extends Endpoint> {
  readonly label: string;
  readonly endpoints: readonly E[];
  /** Adds a column with the model, if the endpoints belong to several. */
  modelOf?(endpoint: E): string;
}

export function EndpointTable<E extends Endpoint>({ label, endpoints, modelOf }: EndpointTableProps<E>) {
  const heads = ["Region", "State", "Since", ...(modelOf === undefined ? [] : ["Model"]), "Checked"];
  return (
    <SmallTable label={label} heads={heads}>
      {endpoints.map((endpoint, index) => (
        <tr key={index}>
          <th scope="row">{endpoint.region}</th>
          <td>
            <StatusBadge status={endpoint.status} />
            {endpoint.detail === null ? null : <span class="second-line">{endpoint.detail}</span>}
          </td>
          <td>
            <RelativeTime at={endpoint.since} />
          </td>
          {modelOf === undefined ? null : <td>{modelOf(endpoint)}</td>}
          <td>
            <RelativeTime at={endpoint.checked_at} />
          </td>
        </tr>
      ))}
    </SmallTable>
  );
}
