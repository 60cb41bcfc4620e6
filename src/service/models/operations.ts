import type { ModelView } from "../../api/models.ts";
import { answerValue, refuse } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { findModel, listModels, type OfferedModel } from "./queries.ts";

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
