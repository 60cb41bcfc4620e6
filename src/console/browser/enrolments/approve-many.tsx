import { counted } from "../../../views/view.ts";
import { useState } from "preact/hooks";

import type { EnrolmentView } from "../../../api/enrolments.ts";
import { aloneBecause, enrolmentLine } from "../../../views/enrolments.ts";
import { invalidate } from "../data/query.ts";
import { sentence } from "../data/request.ts";
import { useWrite } from "../data/write.ts";
import { Dialog } from "../parts/form/dialog.tsx";
import { Checkbox, FieldError } from "../parts/form/fields.tsx";
import { Form } from "../parts/form/form.tsx";
import { showToast } from "../parts/toast.tsx";
import { APPROVAL_TOPICS } from "./decision.tsx";

interface ApproveManyProps {
  /** Those that the list shows. */
  readonly enrolments: readonly EnrolmentView[];
  close(): void;
}

/** Approves the checked computers as they ask to be, one after the other. The first that is refused ends it; the rest stay checked. */
export function ApproveMany({ enrolments, close }: ApproveManyProps) {
  const [checked, check] = useState<ReadonlySet<string>>(new Set());
  const [refusedCode, setRefused] = useState("");
  const { send, isBusy, problem } = useWrite();
  const offered = enrolments.filter((each) => aloneBecause(each) === null);
  const others = enrolments.filter((each) => aloneBecause(each) !== null);
  const chosen = offered.filter(({ user_code: code }) => checked.has(code));
  const toggle = (codes: readonly string[], isChecked: boolean) => {
    const rest = [...checked].filter((code) => !codes.includes(code));
    check(new Set(isChecked ? [...rest, ...codes] : rest));
  };
  const submit = async () => {
    if (chosen.length === 0) return;
    for (const { user_code: code } of chosen) {
      const answer = await send("POST", "/v1/robots/approve", { user_code: code });
      invalidate(APPROVAL_TOPICS);
      if (answer === null) return setRefused(code);
    }
    showToast(`${counted(chosen.length, "computer")} approved.`);
    close();
  };
  return (
    <Dialog title="Approve several computers" close={close} isBusy={isBusy}>
      <Form form={{ change() {} }} isGuarded={false} submit={() => void submit()}>
        <p>Compare each code and key with what its robot shows.</p>
        <Checkbox
          label={`All ${offered.length}`}
          checked={offered.length > 0 && chosen.length === offered.length}
          change={(isChecked) =>
            toggle(
              offered.map(({ user_code: code }) => code),
              isChecked,
            )
          }
        />
        <div class="choices">
          {offered.map((each) => (
            <Checkbox
              key={each.user_code}
              label={`${each.user_code} ${enrolmentLine(each)}`}
              hint={each.key_fingerprint}
              checked={checked.has(each.user_code)}
              change={(isChecked) => toggle([each.user_code], isChecked)}
            />
          ))}
        </div>
        {others.map((each) => (
          <p key={each.user_code} class="muted">
            {each.user_code} is approved by itself, because {aloneBecause(each)}.
          </p>
        ))}
        {problem === null ? null : <FieldError text={`${refusedCode}: ${sentence(problem.detail)}`} />}
        <div class="buttons">
          <button type="button" class="button" disabled={isBusy} onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button button-main" disabled={chosen.length === 0} aria-disabled={isBusy}>
            Approve {chosen.length}
          </button>
        </div>
      </Form>
    </Dialog>
  );
}
