import type * as z from "zod";

import type { EndpointView } from "../../../api/endpoints.ts";
import type { checkpointViewSchema, modelListSchema, ModelView } from "../../../api/models.ts";
import { type Data, useData } from "../data/use-data.ts";

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
