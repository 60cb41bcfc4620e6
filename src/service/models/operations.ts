/** The catalog as it is offered: answers about its models, and the endpoints and regions in which they are served. */
import type { EndpointView } from "../../api/endpoints.ts";
import type { ModelView } from "../../api/models.ts";
import { ENDPOINT_STATUS } from "../endpoints/index.ts";
import { type Answer, answerValue, refuse } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { type Reader, readSnapshot } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { CHECKPOINT_ID, SLUG } from "./catalog.ts";
import { parseRequirements, type Requirements } from "./requirements.ts";
import { nameOf } from "./training.ts";

/** `GET /v1/models/{slug}`: one model of the catalog. Checkpoint ids are not accepted. */
export function getModel({ store }: OperationContext): Handler<null> {
  return async ({ path }) => {
    const model = (await listModels(store.reader)).find(({ slug }) => slug === path["slug"]);
    return model === undefined ? refuse("NotFound", "Model not found") : answerValue(modelView(model));
  };
}

/** `GET /v1/models`: every model of the catalog, oldest first. */
export function listCatalogModels({ store }: OperationContext): Handler<null> {
  return async () => answerValue({ models: (await listModels(store.reader)).map(modelView) });
}

/** The view of a model, without the URLs of its endpoints: only deployments show them. */
function modelView({ checkpoints, created_at: createdAt, ...model }: OfferedModel): ModelView {
  return {
    ...model,
    checkpoints: checkpoints.map(({ endpoints, requirements, ...checkpoint }) => ({
      ...checkpoint,
      requirements: requirementsView(requirements),
      regions: endpoints.map(({ region }) => region),
    })),
    created_at: createdAt,
  };
}

/** The references by name: what they are like belongs to their organizations. */
function requirementsView({ trained_on: training, ...others }: Requirements): Readonly<Record<string, unknown>> {
  if (training === undefined) return others;
  return { ...others, trained_on: { ...training, references: training.references.map(nameOf) } };
}

/** `GET /v1/endpoints`: every endpoint of the catalog, in the order of `GET /v1/models`, without URLs. */
export function listEndpoints({ store }: OperationContext): Handler<null> {
  return async () => answerValue({ items: (await listModels(store.reader)).flatMap(endpointViews) });
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

/** `GET /v1/regions`: the regions with endpoints, sorted. */
export function listEndpointRegions({ store }: OperationContext): () => Promise<Answer> {
  return async () => {
    const checkpoints = (await listModels(store.reader)).flatMap((model) => model.checkpoints);
    const regions = new Set(checkpoints.flatMap(({ endpoints }) => endpoints.map(({ region }) => region)));
    return answerValue({ regions: [...regions].toSorted() });
  };
}

/** A model in the catalog with its checkpoints, oldest first, without withdrawn ones. */
export interface OfferedModel extends Omit<Tables["models"], "withdrawn_at"> {
  readonly checkpoints: readonly OfferedCheckpoint[];
}

interface OfferedCheckpoint extends Pick<Tables["checkpoints"], "id" | "created_at"> {
  readonly requirements: Requirements;
  /** By region. */
  readonly endpoints: readonly OfferedEndpoint[];
}

export type OfferedEndpoint = Pick<
  Tables["endpoints"],
  "region" | "url" | "health_url" | "health" | "health_since" | "last_probed_at" | "last_error"
>;

/** All models in the catalog, oldest first. A concurrently applied catalog is seen whole or not at all. */
export function listModels(reader: Reader): Promise<readonly OfferedModel[]> {
  return readSnapshot(reader, async (snapshot) => {
    const models = await snapshot
      .selectFrom("models")
      .select(["slug", "display_name", "vendor", "model_type", "license_tier", "default_checkpoint_id", "created_at"])
      .where("withdrawn_at", "is", null)
      .orderBy("created_at")
      .orderBy("slug")
      .execute();
    const checkpoints = await snapshot
      .selectFrom("checkpoints")
      .select(["model_slug", "id", "requirements", "created_at"])
      .where("withdrawn_at", "is", null)
      .orderBy("created_at")
      .orderBy("id")
      .execute();
    const endpoints = await snapshot
      .selectFrom("endpoints")
      .select(["checkpoint_id", "region", "url", "health_url", "health"])
      .select(["health_since", "last_probed_at", "last_error"])
      .where("withdrawn_at", "is", null)
      .orderBy("region")
      .execute();
    const endpointsOf = Map.groupBy(endpoints, ({ checkpoint_id: checkpointId }) => checkpointId);
    const checkpointsOf = Map.groupBy(checkpoints, ({ model_slug: modelSlug }) => modelSlug);
    return models.map((model) => {
      const offered = (checkpointsOf.get(model.slug) ?? []).map(({ id, created_at, requirements }) => ({
        id,
        created_at,
        requirements: parseRequirements(requirements),
        endpoints: endpointsOf.get(id) ?? [],
      }));
      return Object.assign(model, { checkpoints: offered });
    });
  });
}

/** The checkpoint, and its model, that a fleet or a deployment uses. */
interface Subject {
  readonly model_slug: string;
  readonly checkpoint_id: string;
}

/**
 * The checkpoint that a subject refers to: by its id, or by the slug of the model whose default it is.
 *
 * @returns undefined if it is not in the catalog or was withdrawn: nothing new may use it.
 */
export async function resolveSubject(reader: Reader, subject: string): Promise<Subject | undefined> {
  const offered = reader
    .selectFrom("models")
    .innerJoin("checkpoints", "checkpoints.model_slug", "models.slug")
    .select(["models.slug as model_slug", "checkpoints.id as checkpoint_id"])
    .where("models.withdrawn_at", "is", null)
    .where("checkpoints.withdrawn_at", "is", null);
  if (CHECKPOINT_ID.test(subject)) return offered.where("checkpoints.id", "=", subject).executeTakeFirst();
  if (!SLUG.test(subject)) return undefined;
  return offered
    .where("models.slug", "=", subject)
    .whereRef("checkpoints.id", "=", "models.default_checkpoint_id")
    .executeTakeFirst();
}
