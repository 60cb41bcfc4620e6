import type { EndpointView } from "../../api/endpoints.ts";
import { type Answer, answerValue } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { listModels } from "../models/index.ts";
import { listRegions } from "./queries.ts";
import { ENDPOINT_STATUS } from "./health.ts";

/** `GET /v1/endpoints`: every endpoint of the catalog, in the order of `GET /v1/models`, without URLs. */
export function listEndpoints({ store }: OperationContext): Handler<null> {
  return async () => {
    const models = await listModels(store.reader);
    const items = models.flatMap(({ slug: modelSlug, checkpoints }) =>
      checkpoints.flatMap(({ id: checkpointId, endpoints }) =>
        endpoints.map(
          ({ region, health, health_since: since, last_probed_at: checkedAt, last_error: detail }): EndpointView => ({
            model_slug: modelSlug,
            checkpoint_id: checkpointId,
            region,
            status: ENDPOINT_STATUS[health],
            since,
            checked_at: checkedAt,
            detail,
          }),
        ),
      ),
    );
    return answerValue({ items });
  };
}

/** `GET /v1/regions`: the regions with endpoints. */
export function listEndpointRegions({ store }: OperationContext): () => Promise<Answer> {
  return async () => answerValue({ regions: await listRegions(store.reader) });
}
