import { type ComponentChildren, h, type TargetedInputEvent } from "preact";
import { useId } from "preact/hooks";

import { Icon } from "../icon.tsx";

/** Attributes that connect a control with its label, hint and error. */
interface Wiring {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": "true" | undefined;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly className?: string;
  control(wiring: Wiring): ComponentChildren;
}

export function Field({ label, hint, error, className = "field", control }: FieldProps) {
  const id = useId();
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  const described = [error === undefined ? "" : errorId, hint === undefined ? "" : hintId].join(" ").trim();
  return (
    <div class={className}>
      <label class="field-label" for={id}>
        {label}
      </label>
      {control({
        id,
        "aria-describedby": described === "" ? undefined : described,
        "aria-invalid": error === undefined ? undefined : "true",
      })}
      {error === undefined ? null : <FieldError id={errorId} text={error} />}
      {hint === undefined ? null : (
        <p class="field-hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
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

interface InputAttributes {
  readonly name?: string;
  readonly autofocus?: boolean;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly min?: string;
  readonly max?: string;
  readonly step?: string;
  readonly placeholder?: string;
  /** Id of a datalist. */
  readonly list?: string;
}

interface TextFieldProps extends Omit<FieldProps, "control"> {
  readonly value: string;
  change(value: string): void;
  readonly type?: "text" | "password" | "number" | "search" | "date" | "datetime-local";
  readonly input?: InputAttributes;
}

export function TextField({ value, change, type = "text", input = {}, ...field }: TextFieldProps) {
  return (
    <Field
      {...field}
      control={(wiring) =>
        // JSX would need a literal `type`: its types differ for each kind of input.
        h("input", {
          autocomplete: "off",
          spellcheck: false,
          ...input,
          ...wiring,
          type,
          class: "input",
          value,
          onInput: ({ currentTarget }: TargetedInputEvent<HTMLInputElement>) => change(currentTarget.value),
        })
      }
    />
  );
}

interface TextAreaFieldProps extends Omit<FieldProps, "control"> {
  readonly value: string;
  change(value: string): void;
  readonly rows: number;
}

export function TextAreaField({ value, change, rows, ...field }: TextAreaFieldProps) {
  return (
    <Field
      {...field}
      control={(wiring) => (
        <textarea
          {...wiring}
          class="input"
          rows={rows}
          spellcheck={false}
          value={value}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      )}
    />
  );
}

export interface Option {
  readonly value: string;
  readonly word: string;
}

interface SelectFieldProps extends Omit<FieldProps, "control"> {
  readonly value: string;
  change(value: string): void;
  readonly options: readonly Option[];
}

export function SelectField({ value, change, options, ...field }: SelectFieldProps) {
  return (
    <Field
      {...field}
      control={(wiring) => (
        <select {...wiring} class="input" value={value} onChange={({ currentTarget }) => change(currentTarget.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.word}
            </option>
          ))}
        </select>
      )}
    />
  );
}

interface CheckboxProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly checked: boolean;
  change(checked: boolean): void;
}

export function Checkbox({ label, hint, checked, change }: CheckboxProps) {
  return (
    <label class="choice">
      <input type="checkbox" checked={checked} onChange={({ currentTarget }) => change(currentTarget.checked)} />
      <span>{label}</span>
      {hint === undefined ? null : <span class="field-hint">{hint}</span>}
    </label>
  );
}

interface ChoiceFieldProps {
  readonly legend: string;
  readonly value: string;
  change(value: string): void;
  readonly options: readonly (Option & { readonly hint?: string })[];
  readonly error?: string | undefined;
}

/** Radio buttons. */
export function ChoiceField({ legend, value, change, options, error }: ChoiceFieldProps) {
  const name = useId();
  return (
    <fieldset class="choices" aria-describedby={error === undefined ? undefined : `${name}-error`}>
      <legend class="field-label">{legend}</legend>
      {options.map((option) => (
        <label key={option.value} class="choice">
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => change(option.value)}
          />
          <span>{option.word}</span>
          {option.hint === undefined ? null : <span class="field-hint">{option.hint}</span>}
        </label>
      ))}
      {error === undefined ? null : <FieldError id={`${name}-error`} text={error} />}
    </fieldset>
  );
}

interface CheckboxesFieldProps<Value extends string> {
  readonly legend: string;
  readonly chosen: readonly Value[];
  change(chosen: readonly Value[]): void;
  readonly options: readonly { readonly value: Value; readonly word: string; readonly hint?: ComponentChildren }[];
}

/** Checkboxes, side by side where there is room. */
export function CheckboxesField<Value extends string>({
  legend,
  chosen,
  change,
  options,
}: CheckboxesFieldProps<Value>) {
  return (
    <fieldset class="choices choices-many">
      <legend class="field-label">{legend}</legend>
      {options.map(({ value, word, hint }) => (
        <Checkbox
          key={value}
          label={word}
          hint={hint}
          checked={chosen.includes(value)}
          change={(isChosen) => change(isChosen ? [...chosen, value] : chosen.filter((each) => each !== value))}
        />
      ))}
    </fieldset>
  );
}
