import type { ComponentChildren } from "preact";

import { visible } from "../../../../platform/text/visible.ts";
import type { Topic } from "../../../topics.ts";
import { invalidate } from "../../data/query.ts";
import { navigate } from "../../router.ts";
import { showToast } from "../toast.tsx";
import { Dialog } from "./dialog.tsx";
import { entered, FieldError, type FieldSpec } from "./fields.tsx";
import { type ChangeRequest, Fields, Form, type Initial, useForm } from "./form.tsx";

interface FormDialogProps<T> {
  readonly title: string;
  /** Text of the button: "Create key". */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** Whether the rest that is needed is there; required fields are looked at in any case. */
  readonly isReady?: boolean;
  /** What has to be typed first, because the wrong one is easily taken. */
  readonly nameToType?: string;
  /** The fields for what is entered so far. */
  fields?(data: FormData): readonly FieldSpec[];
  readonly initial?: Initial;
  requestOf(data: FormData): ChangeRequest;
  /** What the change affects. */
  readonly topics: readonly Topic[];
  /** Called when the change is made. */
  done(answer: T, data: FormData): void;
  /** Called when it was refused. */
  refused?(): void;
  close(): void;
  /** Above the fields. */
  readonly children?: ComponentChildren;
  /** Below them. */
  below?(data: FormData): ComponentChildren;
}

const TYPED = "typed";

/** A dialog that sends something. Cancel comes first: without fields it has the focus. */
export function FormDialog<T>(props: FormDialogProps<T>) {
  const { title, verb, isDangerous = false, isReady = true, nameToType, initial, close } = props;
  const form = useForm<T>(initial);
  const { data, isBusy } = form;
  const fields = [...(props.fields?.(data) ?? []), ...(nameToType === undefined ? [] : [fieldToType(nameToType)])];
  const errors = form.errorsOf(fields.map(({ name }) => name));
  const isFilled = fields.every(({ name, input }) => input?.required !== true || entered(data, name) !== "");
  const isTyped = nameToType === undefined || shown(entered(data, TYPED)) === shown(nameToType);
  const isComplete = isReady && isFilled && isTyped;
  const submit = async (sent: FormData) => {
    if (!isComplete) return;
    const answer = await form.send(props.requestOf(sent), sent);
    if (answer === null) return props.refused?.();
    invalidate(props.topics);
    props.done(answer, sent);
  };
  return (
    <Dialog title={title} close={close} isBusy={isBusy}>
      <Form form={form} isGuarded={nameToType === undefined} submit={(sent) => void submit(sent)}>
        {props.children}
        <Fields form={form} fields={fields} errors={errors} />
        {props.below?.(data)}
        {errors.rest.map((text) => (
          <FieldError key={text} text={text} />
        ))}
        <div class="buttons">
          <button type="button" class="button" disabled={isBusy} onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            class={`button ${isDangerous ? "button-danger" : "button-main"}`}
            disabled={!isComplete}
            aria-disabled={isBusy}
          >
            {verb}
          </button>
        </div>
      </Form>
    </Dialog>
  );
}

function fieldToType(name: string): FieldSpec {
  return { name: TYPED, label: `Type ${name} to confirm`, input: { autofocus: true, required: true } };
}

/** As the page shows it: white space collapsed, invisible characters written out. */
function shown(text: string): string {
  return visible(text).replaceAll(/\s+/g, " ").trim();
}

interface ChangeDialogProps extends Omit<FormDialogProps<unknown>, "requestOf" | "done"> {
  readonly request: ChangeRequest;
  /** Shown when the change is made. */
  readonly done: string;
  /** The page to go to afterwards: the page of what was removed is empty. */
  readonly next?: string | undefined;
}

/** Asks whether to make a change whose answer holds nothing to show, and makes it. */
export function ChangeDialog({ request, done, next, ...dialog }: ChangeDialogProps) {
  const end = () => {
    showToast(done);
    dialog.close();
    if (next !== undefined) navigate(next);
  };
  return <FormDialog {...dialog} requestOf={() => request} done={end} />;
}
