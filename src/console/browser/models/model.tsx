import type { EndpointView } from "../../../api/endpoints.ts";
import type { ModelView } from "../../../api/models.ts";
import { axesInWords, textsIn } from "../../../api/words/requirements.ts";
import { mayDo } from "../data/session.ts";
import { type Data, useData } from "../data/use-data.ts";
import { useSettled } from "../data/use-settled.ts";
import { DeployDialog } from "../deployments/new.tsx";
import { CopyableText } from "../parts/copy-button.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { SelectField } from "../parts/form/fields.tsx";
import { Loaded, Missing } from "../parts/loaded.tsx";
import { Facts, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { type PageParameters, setParameter, useLocation } from "../router.ts";
import { type Checkpoint, checkpointsOf, nameOf, useEndpoints } from "./data.ts";
import { EndpointTable } from "./endpoint-table.tsx";
import { RobotsThatFit } from "./fit.tsx";

/** `/models/SLUG`: one model with its checkpoints: their requirements, endpoints, and the robots that can run them. */
export function Model({ name: slug }: PageParameters) {
  const model = useData<ModelView>(`/v1/models/${encodeURIComponent(slug)}`, ["models"]);
  const endpoints = useEndpoints();
  const isSettled = useSettled([model, endpoints]);
  return (
    <ResourcePage
      data={model}
      section="models"
      noun="model"
      title={slug}
      titleOf={nameOf}
      actionsOf={() => (
        <DialogButton scope="deployments:write" word="Deploy">
          {(close) => <DeployDialog model={slug} close={close} />}
        </DialogButton>
      )}
      lines={8}
      isSettled={isSettled}
      missing={<Missing text="The catalog of this service has no such model." list="models" />}
    >
      {(known) => (
        <>
          <Section title="Model">
            <ModelFacts model={known} />
          </Section>
          {checkpointsOf(known).map((checkpoint) => (
            <Section
              key={checkpoint.id}
              title={`Checkpoint ${checkpoint.id}`}
              note={<CheckpointNote checkpoint={checkpoint} model={known} />}
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

function ModelFacts({ model }: { readonly model: ModelView }) {
  return (
    <Facts
      facts={[
        ["Slug", <CopyableText text={model.slug} what="slug" />],
        ["Vendor", model.vendor],
        ["Type", model.model_type],
        ["License", model.license_tier],
        ["Default checkpoint", model.default_checkpoint_id],
        ["In the catalog since", <RelativeTime at={model.created_at} />],
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
  return (
    <Section title="Robots that can run it">
      {checkpoints.length < 2 ? null : (
        <SelectField
          label="Checkpoint"
          className="field fit-checkpoint"
          value={chosen.id}
          change={(id) => setParameter("checkpoint", id)}
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
        <Requirements requirements={checkpoint.requirements ?? {}} />
      </section>
      <section>
        <h3>Endpoints</h3>
        <Loaded data={endpoints} what="the endpoints" lines={2}>
          {({ items }) => {
            const own = items.filter((each) => each.checkpoint_id === checkpoint.id);
            return own.length === 0 ? (
              <p>None: no robot can run this checkpoint before the catalog names one.</p>
            ) : (
              <EndpointTable label={`Endpoints of ${checkpoint.id}`} endpoints={own} />
            );
          }}
        </Loaded>
      </section>
    </div>
  );
}

function Requirements({ requirements }: { readonly requirements: Readonly<Record<string, unknown>> }) {
  return (
    <Facts
      facts={[
        ["Robot type", textsIn(requirements["robot_types"]).join(" or ") || "any"],
        ["Camera roles", textsIn(requirements["camera_roles"]).join(", ") || "none needed"],
        ["State axes", axesInWords(requirements["state_axes"])],
        ["Action axes", axesInWords(requirements["action_axes"])],
      ]}
    />
  );
}
