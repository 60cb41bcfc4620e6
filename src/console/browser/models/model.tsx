import { useState } from "preact/hooks";

import type { EndpointView } from "../../../api/endpoints.ts";
import type { ModelView } from "../../../api/models.ts";
import { mayDo } from "../data/session.ts";
import type { Data } from "../data/use-data.ts";
import { useData } from "../data/use-data.ts";
import { useSettled } from "../data/use-settled.ts";
import { DeployDialog } from "../deployments/new.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { SelectField } from "../parts/form/fields.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { ProblemNotice, StaleNotice } from "../parts/notice.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { setQuery, useLocation } from "../router.ts";
import type { PageParameters } from "../router.ts";
import type { Checkpoint } from "./data.ts";
import { checkpointsOf, nameOf, useEndpoints } from "./data.ts";
import { EndpointTable } from "./endpoint-table.tsx";
import { RobotsThatFit } from "./fit.tsx";
import { RequirementsView } from "./requirements.tsx";

/** `/models/SLUG`: one model with its checkpoints: their requirements, endpoints, and the robots that can run them. */
export function Model({ name: slug }: PageParameters) {
  const model = useData<ModelView>(`/v1/models/${encodeURIComponent(slug)}`, ["models"]);
  const endpoints = useEndpoints();
  const isSettled = useSettled([model, endpoints]);
  const [isDeploying, setDeploying] = useState(false);
  const view = model.state === "ready" ? model.value : null;
  return (
    <Page
      title={view === null ? slug : nameOf(view)}
      up={{ href: "/models", word: "Models" }}
      actions={
        view !== null && mayDo("deployments:write") ? (
          <button type="button" class="button" onClick={() => setDeploying(true)}>
            Deploy
          </button>
        ) : undefined
      }
    >
      {model.state === "failed" ? (
        <NoModel {...model} />
      ) : view === null || !isSettled ? (
        <Skeleton lines={8} what="this model" />
      ) : (
        <div class="sections">
          {model.state === "ready" && model.problem !== null ? (
            <StaleNotice problem={model.problem} what="this model" />
          ) : null}
          <Section title="Model">
            <ModelFacts model={view} />
          </Section>
          {checkpointsOf(view).map((checkpoint) => (
            <Section
              key={checkpoint.id}
              title={`Checkpoint ${checkpoint.id}`}
              note={<CheckpointNote checkpoint={checkpoint} model={view} />}
            >
              <CheckpointView checkpoint={checkpoint} endpoints={endpoints} />
            </Section>
          ))}
          <Fit model={view} />
        </div>
      )}
      {isDeploying ? <DeployDialog model={slug} close={() => setDeploying(false)} /> : null}
    </Page>
  );
}

function NoModel({
  problem,
  retry,
}: Pick<Extract<Data<ModelView>, { readonly state: "failed" }>, "problem" | "retry">) {
  if (problem.kind !== "missing") return <ProblemNotice problem={problem} what="this model" retry={retry} />;
  return (
    <p>
      The catalog of this service has no such model. <a href="/models">See all models</a>
    </p>
  );
}

function ModelFacts({ model }: { readonly model: ModelView }) {
  const {
    slug,
    vendor,
    model_type: modelType,
    license_tier: licenseTier,
    default_checkpoint_id: defaultCheckpointId,
    created_at: createdAt,
  } = model;
  return (
    <Facts
      facts={[
        [
          "Slug",
          <span class="chip">
            <span class="mono cut">{slug}</span>
            <CopyButton text={slug} what="slug" />
          </span>,
        ],
        ["Vendor", vendor],
        ["Type", modelType],
        ["License", licenseTier],
        ["Default checkpoint", defaultCheckpointId],
        ["In the catalog since", <RelativeTime at={createdAt} />],
      ]}
    />
  );
}

/** Which robots can run the checkpoint that the URL names, or else the default one. */
function Fit({ model }: { readonly model: ModelView }) {
  const { query } = useLocation();
  const checkpoints = checkpointsOf(model);
  const asked = query.get("checkpoint");
  const chosen =
    checkpoints.find(({ id }) => id === asked) ??
    checkpoints.find(({ id }) => id === model.default_checkpoint_id) ??
    checkpoints[0];
  if (chosen === undefined || !mayDo("robots:read")) return null;
  const choose = (id: string) => setQuery((query) => query.set("checkpoint", id));
  return (
    <Section title="Robots that can run it">
      {checkpoints.length < 2 ? null : (
        <SelectField
          label="Checkpoint"
          className="field fit-checkpoint"
          value={chosen.id}
          change={choose}
          options={checkpoints.map(({ id }) => ({
            value: id,
            word: id === model.default_checkpoint_id ? `${id} (default)` : id,
          }))}
        />
      )}
      <RobotsThatFit subject={chosen.id} />
    </Section>
  );
}

interface CheckpointNoteProps {
  readonly checkpoint: Checkpoint;
  readonly model: ModelView;
}

function CheckpointNote({ checkpoint: { id, created_at: createdAt }, model }: CheckpointNoteProps) {
  return (
    <>
      {id === model.default_checkpoint_id ? "The default, which the slug stands for; created " : "Created "}
      <RelativeTime at={createdAt} />
    </>
  );
}

interface CheckpointProps {
  readonly checkpoint: Checkpoint;
  readonly endpoints: Data<{ readonly items: readonly EndpointView[] }>;
}

function CheckpointView({ checkpoint, endpoints }: CheckpointProps) {
  return (
    <div class="columns">
      <section>
        <h3>What a robot must bring</h3>
        <RequirementsView requirements={checkpoint.requirements ?? {}} />
      </section>
      <section>
        <h3>Endpoints</h3>
        <Loaded data={endpoints} what="the endpoints" lines={2}>
          {({ items }) => (
            <CheckpointEndpoints
              id={checkpoint.id}
              endpoints={items.filter((each) => each.checkpoint_id === checkpoint.id)}
            />
          )}
        </Loaded>
      </section>
    </div>
  );
}

interface CheckpointEndpointsProps {
  readonly id: string;
  readonly endpoints: readonly EndpointView[];
}

function CheckpointEndpoints({ id, endpoints }: CheckpointEndpointsProps) {
  if (endpoints.length === 0) return <p>None: no robot can run this checkpoint before the catalog names one.</p>;
  return <EndpointTable label={`Endpoints of ${id}`} endpoints={endpoints} />;
}
