import { useState } from "preact/hooks";

import { keyOn } from "../../../api/words/allowed-keys.ts";
import { invalidate } from "../data/cache.ts";
import { useWrite } from "../data/use-write.ts";
import { expiryOf } from "../keys/expiry.ts";
import { Field, SelectField, TextAreaField } from "../parts/form/fields.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { useFormErrors } from "../parts/form/form-errors.ts";
import { number } from "../parts/text.ts";
import { showToast } from "../parts/toast.tsx";

const EXPIRIES = [
  { value: "7", word: "In 7 days" },
  { value: "30", word: "In 30 days" },
  { value: "60", word: "In 60 days" },
];
/** Longer than the longest list of one request. */
const FILE_LIMIT_BYTES = 256 * 1024;

/** Adds keys to the list; those that are on it are allowed once more. */
export function AllowDialog({ close }: { close(): void }) {
  const [text, setText] = useState("");
  const [days, setDays] = useState("30");
  const [unread, setUnread] = useState<string>();
  const { send, isBusy, problem } = useWrite<{ readonly added: number }>();
  const keys = text
    .split("\n")
    .map(keyOn)
    .filter((key) => key !== "");
  const errors = useFormErrors({ isBusy, problem }, ["keys", "expires_at"], { keys });
  const submit = async () => {
    const answer = await send("POST", "/v1/robot-allowed-keys", { keys, expires_at: expiryOf(days, "") });
    if (answer === null) return;
    invalidate(["enrolments"]);
    showToast(answer.added === 1 ? "The key is allowed." : `${number(answer.added)} keys are allowed.`);
    close();
  };
  const read = async (file: File | undefined) => {
    if (file === undefined) return;
    if (file.size > FILE_LIMIT_BYTES) return setUnread(`${file.name} is too large for a list of keys.`);
    // The file may be gone by now, or forbidden.
    const content = await file.text().catch(() => null);
    setUnread(content === null ? `${file.name} cannot be read.` : undefined);
    if (content !== null) setText(content);
  };
  return (
    <FormDialog
      title="Allow keys"
      verb="Allow"
      isReady={keys.length > 0}
      isBusy={isBusy}
      errors={errors.rest}
      submit={submit}
      close={close}
    >
      <TextAreaField
        label="Keys"
        hint="A public key or its fingerprint (SHA256:…) on each line. A computer with one of them enrolls without an approval, once."
        value={text}
        change={setText}
        rows={6}
        error={errors.of("keys")}
      />
      <Field
        label="Or take them from a file"
        error={unread}
        control={(wiring) => (
          <input
            {...wiring}
            type="file"
            class="input"
            onChange={({ currentTarget }) => void read(currentTarget.files?.[0])}
          />
        )}
      />
      <SelectField label="Expires" value={days} change={setDays} options={EXPIRIES} error={errors.of("expires_at")} />
    </FormDialog>
  );
}
