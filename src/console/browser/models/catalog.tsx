/** The catalog of models: what pages ask of it, and the field that chooses a model. */
import type * as z from "zod";

import type { EndpointView } from "../../../api/endpoints.ts";
import type { modelListSchema, ModelView } from "../../../api/models.ts";
import { type Data, useData } from "../data/query.ts";
import type { FieldSpec, Option } from "../parts/form/fields.tsx";

export function useModels(): Data<z.output<typeof modelListSchema>> {
  return useData("/v1/models", ["models"]);
}

/** All endpoints of the catalog with their health. */
export function useEndpoints(): Data<{ readonly items: readonly EndpointView[] }> {
  return useData("/v1/endpoints", ["models", "fleets"]);
}

/** The name for people. */
export function nameOf({ display_name: displayName, slug }: ModelView): string {
  return displayName ?? slug;
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

function optionsOf({ slug, default_checkpoint_id: standard, checkpoints }: ModelView): readonly Option[] {
  const word = standard === null || standard === undefined ? slug : `${slug} (now ${standard})`;
  return [{ value: slug, word }, ...(checkpoints ?? []).map(({ id }) => ({ value: id, word: `${slug}: ${id}` }))];
}
