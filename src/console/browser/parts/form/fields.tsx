import { type ComponentChildren, h, type TargetedInputEvent } from "preact";
import { useId } from "preact/hooks";

import { Icon } from "../icon.tsx";

export interface Option {
  readonly value: string;
  readonly word: string;
  readonly hint?: ComponentChildren;
}

interface InputAttributes {
  readonly autofocus?: boolean;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly min?: string;
  readonly max?: string;
  readonly step?: string;
  readonly placeholder?: string;
  readonly rows?: number;
}

/** A field of a form, which reads what is entered from the document, by name. */
export interface FieldSpec {
  /** The path of its value in the body, so that errors of the service find it: `selection.selector.site`. */
  readonly name: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly kind?: "text" | "password" | "number" | "search" | "date" | "area" | "select" | "radio" | "checkboxes";
  /** Of a choice; the suggestions of a text. */
  readonly options?: readonly Option[];
  readonly input?: InputAttributes;
  /** Adds a button that checks all. */
  readonly hasAll?: boolean;
  /** What has to be typed, letter by letter. */
  readonly mustBe?: string;
}

interface FieldProps extends Omit<FieldSpec, "name"> {
  readonly name?: string;
  /** What it holds at first; with `change`, at any time. */
  readonly value?: string;
  /** For a field outside of a form, such as a filter. */
  change?(value: string): void;
  readonly error?: string | undefined;
}

export function Field(props: FieldProps) {
  const { kind = "text", name, label, hint, options = [], input = {}, value = "", change, error } = props;
  const id = useId();
  if (kind === "radio" || kind === "checkboxes") return <Choices {...props} kind={kind} id={id} />;
  const described = [error === undefined ? "" : `${id}-error`, hint === undefined ? "" : `${id}-hint`];
  const attributes = {
    ...input,
    id,
    name,
    class: "input",
    "aria-describedby": described.join(" ").trim() || undefined,
    "aria-invalid": error === undefined ? undefined : ("true" as const),
    onInput: ({ currentTarget }: TargetedInputEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>) =>
      change?.(currentTarget.value),
    ...(change === undefined ? { defaultValue: value } : { value }),
  };
  const list = options.length === 0 ? undefined : `${id}-list`;
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {label}
      </label>
      {kind === "select" ? (
        <select {...attributes}>
          <Options options={options} chosen={value} />
        </select>
      ) : kind === "area" ? (
        <textarea {...attributes} spellcheck={false} />
      ) : (
        // JSX would need a literal `type`: its types differ for each kind of input.
        h("input", { autocomplete: "off", spellcheck: false, list, ...attributes, type: kind })
      )}
      {list === undefined || kind === "select" ? null : (
        <datalist id={list}>
          <Options options={options} chosen="" />
        </datalist>
      )}
      {error === undefined ? null : <FieldError id={`${id}-error`} text={error} />}
      {hint === undefined ? null : (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

function Options({ options, chosen }: { readonly options: readonly Option[]; readonly chosen: string }) {
  return (
    <>
      {options.map(({ value, word }) => (
        <option key={value} value={value} selected={value === chosen}>
          {word}
        </option>
      ))}
    </>
  );
}

interface ChoicesProps extends FieldProps {
  readonly kind: "radio" | "checkboxes";
  readonly id: string;
}

/** Radio buttons, or checkboxes side by side where there is room. */
function Choices({ kind, id, name = id, label, options = [], hasAll = false, value, error }: ChoicesProps) {
  return (
    <fieldset
      class={kind === "radio" ? "choices" : "choices choices-many"}
      aria-describedby={error === undefined ? undefined : `${id}-error`}
    >
      <legend class="field-label">{label}</legend>
      {hasAll ? (
        <button type="button" class="button" onClick={({ currentTarget }) => checkAll(currentTarget)}>
          Check all
        </button>
      ) : null}
      {options.map((option) => (
        <label key={option.value} class="choice">
          <input
            type={kind === "radio" ? "radio" : "checkbox"}
            name={name}
            value={option.value}
            defaultChecked={option.value === value}
          />
          <span>{option.word}</span>
          {option.hint === undefined ? null : <span class="field-hint">{option.hint}</span>}
        </label>
      ))}
      {error === undefined ? null : <FieldError id={`${id}-error`} text={error} />}
    </fieldset>
  );
}

/** Of the fieldset that this is in. */
function checkAll(within: Element): void {
  for (const input of within.closest("fieldset")?.querySelectorAll("input") ?? []) if (!input.checked) input.click();
}

interface CheckboxProps {
  readonly label: string;
  readonly checked: boolean;
  change(checked: boolean): void;
}

export function Checkbox({ label, checked, change }: CheckboxProps) {
  return (
    <label class="choice">
      <input type="checkbox" checked={checked} onChange={({ currentTarget }) => change(currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

export function FieldError({ id, text }: { readonly id?: string; readonly text: string }) {
  return (
    <p class="field-error" id={id} role="alert">
      <Icon name="blocked" />
      {text}
    </p>
  );
}

/** What is entered in a field, without the blanks around it. */
export function entered(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === "string" ? value.trim() : "";
}
