import type { ModelView } from "../../../api/models.ts";
import { Field, TextField } from "../parts/form/fields.tsx";
import { useModels } from "./data.ts";

interface SubjectFieldProps {
  readonly value: string;
  change(value: string): void;
  readonly error: string | undefined;
}

/** Chooses a model (its default checkpoint) or a checkpoint. Without the scope to read the catalog it is a text field. */
export function SubjectField({ value, change, error }: SubjectFieldProps) {
  const models = useModels();
  if (models.state === "failed") {
    const hint = "The slug of a model, or the id of a checkpoint.";
    return <TextField label="Model" value={value} change={change} error={error} hint={hint} />;
  }
  const list = models.value?.models ?? [];
  const hint = list.length === 0 && models.state === "ready" ? "The catalog of this service is empty." : undefined;
  return (
    <Field
      label="Model"
      error={error}
      hint={hint}
      control={(wiring) => (
        <select {...wiring} class="input" value={value} onChange={({ currentTarget }) => change(currentTarget.value)}>
          <option value="">Choose a model</option>
          {list.map((model) => (
            <ModelOptions key={model.slug} model={model} />
          ))}
        </select>
      )}
    />
  );
}

function ModelOptions({
  model: { slug, display_name: displayName, default_checkpoint_id: defaultCheckpointId, checkpoints },
}: {
  readonly model: ModelView;
}) {
  return (
    <optgroup label={displayName ?? slug}>
      <option value={slug}>
        {slug}
        {defaultCheckpointId === null || defaultCheckpointId === undefined ? "" : ` (now ${defaultCheckpointId})`}
      </option>
      {(checkpoints ?? []).map(({ id }) => (
        <option key={id} value={id}>
          {id}
        </option>
      ))}
    </optgroup>
  );
}
