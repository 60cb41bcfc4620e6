import { useMemo } from "preact/hooks";

import type { EndpointView } from "../../../api/endpoints.ts";
import type { ModelView } from "../../../api/models.ts";
import { type Checkpoint, checkpointFacts, ENDPOINT_COLUMNS, MODELS, offeredModel } from "../../../views/models.ts";
import { mayDo } from "../data/session.ts";
import { type Data, useData, areSettled } from "../data/query.ts";
import { deployment } from "../deployments/deploy.tsx";
import { Preview } from "../fleets/preview.tsx";
import { Field } from "../parts/form/fields.tsx";
import { Loaded, Missing } from "../parts/loaded.tsx";
import { Section } from "../parts/page.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { ShownFacts, ShownTable } from "../parts/shown.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { useRobotViews } from "../robots/data.ts";
import { modelPath, type PageParameters, setParameter, useLocation } from "../router.ts";
import { nameOf, useEndpoints, useModels } from "./catalog.tsx";

/** `/models`: the catalog, with regions and health of the endpoints. */
export function Models() {
  const models = useModels();
  const endpoints = useEndpoints();
  const isSettled = areSettled([models, endpoints]);
  const list = models.value?.models;
  const known = endpoints.value?.items;
  const rows = useMemo(() => (list ?? []).map(offeredModel(known ?? null)), [list, known]);
  return (
    <ListPage
      view={MODELS}
      data={models}
      rows={rows}
      keyOf={({ model }) => model.slug}
      hrefOf={({ model }) => modelPath(model.slug)}
      sort="model"
      isLoading={!isSettled}
      empty={
        <p>
          The administrator of the service lists models in a catalog file, names that file as <code>models</code> in the
          service's configuration, and applies it with <code>robot-policy-service models apply</code>.
        </p>
      }
    />
  );
}

/** `/models/SLUG`: one model with its checkpoints: their requirements, endpoints, and the robots that can run them. */
export function Model({ name: slug }: PageParameters) {
  const model = useData<ModelView>(`/v1/models/${encodeURIComponent(slug)}`, ["models"]);
  const endpoints = useEndpoints();
  const isSettled = areSettled([model, endpoints]);
  return (
    <ResourcePage
      data={model}
      section="models"
      noun="model"
      title={slug}
      titleOf={nameOf}
      changesOf={() => [deployment({ model: slug })]}
      lines={8}
      isSettled={isSettled}
      missing={<Missing text="The catalog of this service has no such model." list="models" />}
    >
      {(known) => (
        <>
          <Section title="Model">
            <ShownFacts facts={MODELS.factsOf({ model: known, endpoints: null })} />
          </Section>
          {(known.checkpoints ?? []).toReversed().map((checkpoint) => (
            <Section
              key={checkpoint.id}
              title={`Checkpoint ${checkpoint.id}`}
              note={
                checkpoint.id === known.default_checkpoint_id ? "The default, which the slug stands for" : undefined
              }
            >
              <CheckpointView checkpoint={checkpoint} endpoints={endpoints} />
            </Section>
          ))}
          <Fit model={known} />
        </>
      )}
    </ResourcePage>
  );
}

/** Which robots can run the checkpoint that the URL names, or else the default one. */
function Fit({ model }: { readonly model: ModelView }) {
  const { query } = useLocation();
  const robots = useRobotViews();
  const checkpoints = (model.checkpoints ?? []).toReversed();
  const asked = query.get("checkpoint");
  const chosen =
    checkpoints.find(({ id }) => id === asked) ??
    checkpoints.find(({ id }) => id === model.default_checkpoint_id) ??
    checkpoints[0];
  if (chosen === undefined || !mayDo("robots:read")) return null;
  return (
    <Section title="Robots that can run it">
      {checkpoints.length < 2 ? null : (
        <Field
          kind="select"
          label="Checkpoint"
          value={chosen.id}
          change={(id) => setParameter("checkpoint", id)}
          options={checkpoints.map(({ id }) => ({
            value: id,
            word: id === model.default_checkpoint_id ? `${id} (default)` : id,
          }))}
        />
      )}
      <Loaded data={robots} what="the robots" lines={3}>
        {(views) => (
          <Preview
            body={views.length === 0 ? null : { robots: views.map(({ id }) => id), subject: chosen.id }}
            hint="No robot is registered yet."
          />
        )}
      </Loaded>
    </Section>
  );
}

interface CheckpointProps {
  readonly checkpoint: Checkpoint;
  readonly endpoints: Data<{ readonly items: readonly EndpointView[] }>;
}

/** What it needs of a robot, and its endpoints. */
function CheckpointView({ checkpoint, endpoints }: CheckpointProps) {
  return (
    <>
      <ShownFacts facts={checkpointFacts(checkpoint)} />
      <div class="below">
        <Loaded data={endpoints} what="the endpoints" lines={2}>
          {({ items }) => {
            const own = items.filter((each) => each.checkpoint_id === checkpoint.id);
            return own.length === 0 ? (
              <p>No endpoint: no robot can run this checkpoint before the catalog names one.</p>
            ) : (
              <ShownTable label={`Endpoints of ${checkpoint.id}`} columns={ENDPOINT_COLUMNS} rows={own} />
            );
          }}
        </Loaded>
      </div>
    </>
  );
}
