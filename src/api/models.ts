import * as z from "zod";

import { operationsOf } from "./wire/operation.ts";

/** One set of weights of a model, and its requirements. */
export const checkpointViewSchema = z
  .looseObject({
    id: z.string(),
    created_at: z.string().nullish(),
    requirements: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe("What a robot needs to run it. An absent member is no requirement."),
    regions: z
      .array(z.string())
      .nullish()
      .describe("Regions in which it has an endpoint. A robot is served only in its own region."),
  })
  .meta({ id: "CheckpointView" });

/** Answer of `GET /v1/models/{slug}`. The service document leaves the members open; a client needs only `slug`. */
export const modelViewSchema = z
  .looseObject({
    slug: z
      .string()
      .describe("Identifies the model, for example as the subject of a fleet or the model of a deployment."),
    display_name: z.string().nullish(),
    vendor: z.string().nullish(),
    model_type: z.string().nullish(),
    license_tier: z.string().nullish(),
    default_checkpoint_id: z.string().nullish().describe("The checkpoint that the slug refers to."),
    checkpoints: z.array(checkpointViewSchema).nullish().describe("Checkpoints in the catalog, oldest first."),
    created_at: z.string().nullish(),
  })
  .meta({ id: "ModelView" });
export type ModelView = z.output<typeof modelViewSchema>;

/** Answer of `GET /v1/models`. */
export const modelListSchema = z.looseObject({ models: z.array(modelViewSchema) }).meta({ id: "ModelList" });

const operation = operationsOf("catalog");

export const getModel = operation("GET", "/v1/models/{slug}", {
  summary: "Get a model",
  does: "Returns a model of the catalog, with its checkpoints and what each requires of a robot.",
  answers: {
    200: "The model.",
    404: "The catalog has no model with this slug, or no longer has it. The id of a checkpoint is not accepted as a slug.",
  },
  scopes: ["models:read"],
  response: modelViewSchema,
});

export const listModels = operation("GET", "/v1/models", {
  summary: "List the models of the catalog",
  does: "Lists all models of the catalog, oldest first. This list has no pages.",
  answers: { 200: "The models." },
  scopes: ["models:read"],
  response: modelListSchema,
});
