import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { visible } from "../../../../platform/text/visible.ts";
import type { Topic } from "../../../topics.ts";
import { invalidate } from "../../data/query.ts";
import type { Write } from "../../data/request.ts";
import { useWrite } from "../../data/write.ts";
import { navigate } from "../../router.ts";
import { showToast } from "../toast.tsx";
import { Dialog } from "./dialog.tsx";
import { FieldError, TextField } from "./fields.tsx";
import { Form } from "./form.tsx";

interface FormDialogProps {
  readonly title: string;
  /** Text of the button: "Create key". */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** Whether everything needed is filled in. */
  readonly isReady?: boolean;
  /** What has to be typed first, because the wrong one is easily taken. */
  readonly nameToType?: string;
  readonly isBusy: boolean;
  /** Errors that belong to no field. */
  readonly errors: readonly string[];
  submit(): Promise<void>;
  close(): void;
  readonly children: ComponentChildren;
}

/** A dialog that sends something. Cancel comes first: without fields it has the focus. */
export function FormDialog({ title, verb, isBusy, errors, submit, close, children, ...options }: FormDialogProps) {
  const { isDangerous = false, nameToType } = options;
  const [typed, setTyped] = useState("");
  const isReady = nameToType === undefined ? (options.isReady ?? true) : shown(typed) === shown(nameToType);
  const send = () => {
    if (isReady) void submit();
  };
  return (
    <Dialog title={title} close={close} isBusy={isBusy}>
      <Form isGuarded={nameToType === undefined} submit={send}>
        {children}
        {nameToType === undefined ? null : (
          <TextField
            label={`Type ${nameToType} to confirm`}
            value={typed}
            change={setTyped}
            input={{ autofocus: true, required: true }}
          />
        )}
        {errors.map((text) => (
          <FieldError key={text} text={text} />
        ))}
        <div class="buttons">
          <button type="button" class="button" disabled={isBusy} onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            class={`button ${isDangerous ? "button-danger" : "button-main"}`}
            disabled={!isReady}
            aria-disabled={isBusy}
          >
            {verb}
          </button>
        </div>
      </Form>
    </Dialog>
  );
}

/** As the page shows it: white space collapsed, invisible characters written out. */
function shown(text: string): string {
  return visible(text).replaceAll(/\s+/g, " ").trim();
}

interface ChangeDialogProps extends Omit<FormDialogProps, "isBusy" | "errors" | "submit"> {
  readonly request: { readonly method: Write; readonly path: string; readonly body?: unknown };
  /** What the change affects. */
  readonly topics: readonly Topic[];
  /** Shown when the change is made. */
  readonly done: string;
  /** The page to go to afterwards: the page of what was removed is empty. */
  readonly next?: string | undefined;
}

/** Asks whether to make a change whose answer holds nothing to show, and makes it. */
export function ChangeDialog({ request, topics, done, next, ...dialog }: ChangeDialogProps) {
  const { send, isBusy, problem } = useWrite<unknown>();
  const submit = async () => {
    if ((await send(request.method, request.path, request.body)) === null) return;
    invalidate(topics);
    showToast(done);
    dialog.close();
    if (next !== undefined) navigate(next);
  };
  return <FormDialog {...dialog} isBusy={isBusy} errors={problem === null ? [] : [problem.detail]} submit={submit} />;
}
