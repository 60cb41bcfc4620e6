import type { ComponentChildren } from "preact";

import type { Topic } from "../../../topics.ts";
import { invalidate } from "../../data/cache.ts";
import type { Write } from "../../data/request.ts";
import { useWrite } from "../../data/use-write.ts";
import { navigate } from "../../router.ts";
import { showToast } from "../toast.tsx";
import { FormDialog } from "./form-dialog.tsx";

interface ChangeDialogProps {
  readonly title: string;
  /** Text of the button. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly nameToType?: string;
  readonly request: { readonly method: Write; readonly path: string; readonly body?: unknown };
  /** What the change affects. */
  readonly topics: readonly Topic[];
  /** Shown when the change is made. */
  readonly done: string;
  /** The page to go to afterwards: the page of what was removed is empty. */
  readonly next?: string | undefined;
  close(): void;
  readonly children: ComponentChildren;
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
