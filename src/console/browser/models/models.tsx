import { useMemo } from "preact/hooks";

import type { EndpointView } from "../../../api/endpoints.ts";
import type { ModelView } from "../../../api/models.ts";
import { axesInWords, textsIn } from "../../../api/words/requirements.ts";
import { mayDo } from "../data/session.ts";
import { type Data, useData, useSettled } from "../data/query.ts";
import { DeployDialog } from "../deployments/deploy.tsx";
import { PreviewList, usePreview } from "../fleets/preview.tsx";
import { CopyableText } from "../parts/copy-button.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { Field } from "../parts/form/fields.tsx";
import { Loaded, Missing } from "../parts/loaded.tsx";
import { None } from "../parts/none.tsx";
import { Facts, Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { ResourcePage } from "../parts/resource-page.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { type Column, countColumn, textColumn, timeColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { number, present } from "../parts/text.ts";
import { useRobotViews } from "../robots/data.ts";
import { type PageParameters, setParameter, useLocation } from "../router.ts";
import {
  type Checkpoint,
  checkpointsOf,
  EndpointTable,
  modelPath,
  nameOf,
  useEndpoints,
  useModels,
} from "./catalog.tsx";

/** A model with its endpoints; null before they are loaded. */
interface OfferedModel {
  readonly model: ModelView;
  readonly endpoints: readonly EndpointView[] | null;
}

const FILTERING: Filtering<OfferedModel> = {
  filters: [
    { id: "vendor", label: "Vendor", valuesOf: ({ model: { vendor } }) => present(vendor) },
    {
      id: "region",
      label: "Region",
      valuesOf: ({ model }) => [...new Set(checkpointsOf(model).flatMap(({ regions }) => regions ?? []))],
    },
    { id: "endpoints", label: "Endpoints", valuesOf: ({ endpoints }) => [stateOf(endpoints)] },
  ],
  textOf: ({ model }) =>
    [
      model.slug,
      nameOf(model),
      model.vendor ?? "",
      model.model_type ?? "",
      model.license_tier ?? "",
      ...checkpointsOf(model).map(({ id }) => id),
    ].join(" "),
};

const COLUMNS: readonly Column<OfferedModel>[] = [
  textColumn({ id: "name", name: "Model", track: "minmax(7.5rem, 1.6fr)" }, ({ model }) => nameOf(model)),
  {
    id: "slug",
    name: "Slug",
    track: "minmax(6rem, 1fr)",
    cell: ({ model }) => <span class="mono over">{model.slug}</span>,
    sortBy: ({ model }) => model.slug,
  },
  {
    id: "endpoints",
    name: "Endpoints",
    track: "10rem",
    cell: ({ endpoints }) => <Endpoints endpoints={endpoints} />,
    sortBy: ({ endpoints }) => STATES.indexOf(stateOf(endpoints)),
  },
  textColumn({ id: "vendor", name: "Vendor", track: "minmax(5rem, 1fr)", from: "narrow" }, ({ model }) => model.vendor),
  textColumn(
    { id: "type", name: "Type", track: "minmax(5.5rem, 1.2fr)", from: "medium" },
    ({ model }) => model.model_type,
  ),
  textColumn({ id: "license", name: "License", track: "6rem", from: "wide" }, ({ model }) => model.license_tier),
  countColumn({ id: "checkpoints", name: "Checkpoints", track: "6rem" }, ({ model }) => checkpointsOf(model).length),
  timeColumn(
    { id: "newest", name: "Newest", track: "6rem", from: "medium" },
    ({ model }) => checkpointsOf(model)[0]?.created_at,
  ),
];

/** `/models`: the catalog, with regions and health of the endpoints. */
export function Models() {
  const models = useModels();
  const endpoints = useEndpoints();
  const isSettled = useSettled([models, endpoints]);
  const list = models.value?.models;
  const known = endpoints.value?.items;
  const rows = useMemo(() => join(list ?? [], known), [list, known]);
  return (
    <ListPage
      title="Models"
      data={models}
      emptyTitle="The catalog is empty"
      empty={
        <p>
          The administrator of the service lists models in a catalog file, names that file as <code>models</code> in the
          service's configuration, and applies it with <code>robot-policy-service models apply</code>.
        </p>
      }
      noun="model"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ model }) => model.slug}
      hrefOf={({ model }) => modelPath(model.slug)}
      sort="name"
      isLoading={!isSettled}
      filtering={FILTERING}
      hint="Name, slug, vendor, checkpoint"
    />
  );
}

function join(models: readonly ModelView[], known: readonly EndpointView[] | undefined): readonly OfferedModel[] {
  return models.map((model) => ({
    model,
    endpoints: known?.filter(({ model_slug: modelSlug }) => modelSlug === model.slug) ?? null,
  }));
}

/** Combined states of a model's endpoints, most urgent first. */
const STATES: readonly string[] = ["unhealthy", "none", "unknown", "healthy"];

function stateOf(endpoints: readonly EndpointView[] | null): string {
  if (endpoints === null) return "unknown";
  if (endpoints.length === 0) return "none";
  return STATES.find((state) => endpoints.some(({ status }) => status === state)) ?? "unknown";
}

function Endpoints({ endpoints }: Pick<OfferedModel, "endpoints">) {
  if (endpoints === null) return <None />;
  if (endpoints.length === 0) return <StatusBadge status="unknown" word="none" />;
  const state = stateOf(endpoints);
  const count = endpoints.filter(({ status }) => status === state).length;
  const all = count === endpoints.length ? "" : ` of ${number(endpoints.length)}`;
  return <StatusBadge status={state} word={`${number(count)}${all} ${state}`} />;
}

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
      <RobotsThatFit subject={chosen.id} />
    </Section>
  );
}

/** Every robot of the organization. */
function RobotsThatFit({ subject }: { readonly subject: string }) {
  const robots = useRobotViews();
  const ids = robots.value?.map(({ id }) => id) ?? [];
  const preview = usePreview(ids.length === 0 ? null : { robots: ids, subject });
  return (
    <Loaded data={robots} what="the robots" lines={3}>
      {() => <PreviewList preview={preview} hint="No robot is registered yet." opensElsewhere={false} />}
    </Loaded>
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
