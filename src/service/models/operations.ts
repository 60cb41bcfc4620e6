import type { ModelView } from "../../api/models.ts";
import { answerValue, refuse } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { OfferedModel } from "./queries.ts";
import { findModel, listModels } from "./queries.ts";

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
function modelView({ checkpoints, ...model }: OfferedModel): ModelView {
  return {
    slug: model.slug,
    display_name: model.display_name,
    vendor: model.vendor,
    model_type: model.model_type,
    license_tier: model.license_tier,
    default_checkpoint_id: model.default_checkpoint_id,
    checkpoints: checkpoints.map(({ id, created_at: createdAt, requirements, endpoints }) => ({
      id,
      created_at: createdAt,
      requirements,
      regions: endpoints.map(({ region }) => region),
    })),
    created_at: model.created_at,
  };
}
