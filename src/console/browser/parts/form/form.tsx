import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

import type { Write as Method } from "../../data/request.ts";
import { useWrite } from "../../data/write.ts";
import { useUnsaved } from "../../unsaved.ts";
import { useFocusKept } from "./ending-button.tsx";
import { Field, type FieldSpec } from "./fields.tsx";
import { type FormErrors, formErrors } from "./form-errors.ts";

/** What the fields hold at first, by name. */
export type Initial = Readonly<Record<string, string>>;

export interface ChangeRequest {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
}

export interface FormState<T> {
  readonly initial: Initial;
  /** What is entered. */
  readonly data: FormData;
  readonly isBusy: boolean;
  change(data: FormData): void;
  /** @returns the answer; null if it failed, which `errorsOf` then tells. */
  send(request: ChangeRequest, sent: FormData): Promise<T | null>;
  /** Errors of the last request, each until the person changes the refused value. */
  errorsOf(names: readonly string[]): FormErrors;
}

export function useForm<T>(initial: Initial = {}): FormState<T> {
  const { send, isBusy, problem } = useWrite<T>();
  const [data, change] = useState(() => dataOf(initial));
  const refused = useRef(data);
  return {
    initial,
    data,
    isBusy,
    change,
    send({ method, path, body }, sent) {
      refused.current = sent;
      change(sent);
      return send(method, path, body);
    },
    errorsOf: (names) => formErrors(problem, names, (name) => isSame(name, refused.current, data)),
  };
}

function dataOf(initial: Initial): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(initial)) data.set(name, value);
  return data;
}

/** Whether the field holds the same, and those below it do. */
function isSame(name: string, before: FormData, now: FormData): boolean {
  const [was, is] = [before, now].map((data) =>
    JSON.stringify([...data].filter(([key]) => key === name || key.startsWith(`${name}.`))),
  );
  return was === is;
}

interface FormProps {
  readonly form: Pick<FormState<unknown>, "change">;
  /** Leaves the validation to the service. */
  readonly noValidate?: boolean;
  /** Whether what is entered is worth a question before it is lost. */
  readonly isGuarded?: boolean;
  /** Receives what is entered at that time. */
  submit(data: FormData): void;
  readonly children: ComponentChildren;
}

/** A form for whose content the browser asks before a link loses it. */
export function Form({ form, noValidate = false, isGuarded = true, submit, children }: FormProps) {
  const [isEdited, setEdited] = useState(false);
  const element = useFocusKept<HTMLFormElement>();
  useUnsaved(isGuarded && isEdited);
  return (
    <form
      ref={element}
      class="form"
      noValidate={noValidate}
      onSubmit={(event) => {
        event.preventDefault();
        submit(new FormData(event.currentTarget));
      }}
      onInput={({ currentTarget }) => {
        setEdited(true);
        form.change(new FormData(currentTarget));
      }}
    >
      {children}
    </form>
  );
}

interface FieldsProps {
  readonly form: Pick<FormState<unknown>, "initial">;
  readonly fields: readonly FieldSpec[];
  readonly errors: FormErrors;
}

export function Fields({ form, fields, errors }: FieldsProps) {
  return (
    <>
      {fields.map((field) => (
        <Field key={field.name} {...field} value={form.initial[field.name] ?? ""} error={errors.of(field.name)} />
      ))}
    </>
  );
}
