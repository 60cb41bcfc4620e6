/** Answers requests about the catalog: its models, and the endpoints and regions in which they are served. */
import type { EndpointView } from "../../api/endpoints.ts";
import type { ModelView } from "../../api/models.ts";
import { ENDPOINT_STATUS } from "../endpoints/index.ts";
import { type Answer, answerValue, refuse } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { findModel, listModels, listRegions, type OfferedModel } from "./queries.ts";

/** `GET /v1/models/{slug}`: one model of the catalog. Checkpoint ids are not accepted. */
export function getModel({ store }: OperationContext): Handler<null> {
  return async ({ path }) => {
    const model = await findModel(store.reader, path["slug"] ?? "");
    return model === undefined ? refuse("NotFound", "Model not found") : answerValue(modelView(model));
  };
}

/** `GET /v1/models`: every model of the catalog, oldest first. */
export function listCatalogModels({ store }: OperationContext): Handler<null> {
  return async () => {
    const models = await listModels(store.reader);
    return answerValue({ models: models.map(modelView) });
  };
}

/** The view of a model, without the URLs of its endpoints: only deployments show them. */
function modelView({ checkpoints, created_at: createdAt, ...model }: OfferedModel): ModelView {
  return {
    ...model,
    checkpoints: checkpoints.map(({ id, created_at: madeAt, requirements, endpoints }) => ({
      id,
      created_at: madeAt,
      requirements,
      regions: endpoints.map(({ region }) => region),
    })),
    created_at: createdAt,
  };
}

/** `GET /v1/endpoints`: every endpoint of the catalog, in the order of `GET /v1/models`, without URLs. */
export function listEndpoints({ store }: OperationContext): Handler<null> {
  return async () => {
    const models = await listModels(store.reader);
    return answerValue({ items: models.flatMap(endpointViews) });
  };
}

function endpointViews({ slug, checkpoints }: OfferedModel): readonly EndpointView[] {
  return checkpoints.flatMap(({ id, endpoints }) =>
    endpoints.map(({ region, health, health_since: since, last_probed_at: checkedAt, last_error: detail }) => ({
      model_slug: slug,
      checkpoint_id: id,
      region,
      status: ENDPOINT_STATUS[health],
      since,
      checked_at: checkedAt,
      detail,
    })),
  );
}

/** `GET /v1/regions`: the regions with endpoints. */
export function listEndpointRegions({ store }: OperationContext): () => Promise<Answer> {
  return async () => answerValue({ regions: await listRegions(store.reader) });
}
