import { useState } from "preact/hooks";
import type * as z from "zod";

import type { apiKeyCreatedSchema, ApiKeyView } from "../../../api/keys.ts";
import type { ApiKeyScope } from "../../../api/wire/scopes.ts";
import { invalidate } from "../data/query.ts";
import { mayDo } from "../data/session.ts";
import { useWrite } from "../data/write.ts";
import { ChoiceField, SelectField, TextField } from "../parts/form/fields.tsx";
import { FormDialog } from "../parts/form/form-dialog.tsx";
import { useFormErrors } from "../parts/form/form-errors.ts";
import { ShownOnce } from "../parts/form/shown-once.tsx";
import { absoluteTime } from "../parts/relative-time.tsx";
import { type Allowance, allowanceNamed, allowancesOffered, ScopeChoices, scopesOf } from "./allowance.tsx";
import { isOwn, labelOf } from "./rows.tsx";
import { type EnrollmentDraft, EnrollmentFields, enrollmentOf, NO_ENROLLMENT } from "./enrollment.tsx";
import { ENROLLMENT_EXPIRIES, EXPIRIES, expiryOf } from "./expiry.ts";

type CreatedKey = z.output<typeof apiKeyCreatedSchema>;

/** Creates a key and shows it once. */
export function NewKeyDialog({ keys, close }: NewKeyProps) {
  const [created, setCreated] = useState<CreatedKey | null>(null);
  if (created === null) return <KeyForm own={keys.find(isOwn)} made={setCreated} close={close} />;
  const { api_key: apiKey, label, expires_at: expiresAt } = created;
  return (
    <ShownOnce title={`The key ${label ?? ""}`} text={apiKey} what="key" close={close}>
      <p>
        Copy it to where it will be used. It is shown only once: the service stores just its hash and last four
        characters.
      </p>
      {expiresAt === null || expiresAt === undefined ? null : <p>It works until {absoluteTime(expiresAt)}.</p>}
    </ShownOnce>
  );
}

interface NewKeyProps {
  readonly keys: readonly ApiKeyView[];
  close(): void;
}

/** The service's limit in code points; the browser counts UTF-16 units, of which there are at least as many. */
const LABEL_LENGTH = 256;

const FIELDS = ["label", "scopes", "expires_at", "enrollment.uses", "enrollment.site", "enrollment.region"];

interface KeyFormProps {
  /** The key that the person signed in with, if it is listed. */
  readonly own: ApiKeyView | undefined;
  made(key: CreatedKey): void;
  close(): void;
}

function KeyForm({ own: ownKey, made, close }: KeyFormProps) {
  const [label, setLabel] = useState("");
  const [allowance, setAllowance] = useState<Allowance>(mayDo("robots:setup") ? "robot" : "some");
  const [scopes, setScopes] = useState<readonly ApiKeyScope[]>([]);
  const [enrollment, setEnrollment] = useState<EnrollmentDraft>(NO_ENROLLMENT);
  const [chosenExpiry, setExpiry] = useState("");
  const [expiresAt, setExpiresAt] = useState("");
  const { send, isBusy, problem } = useWrite<CreatedKey>();
  const isEnrolling = allowance === "enroll";
  const expiries = isEnrolling ? ENROLLMENT_EXPIRIES : EXPIRIES;
  const expiry = expiries.some(({ value }) => value === chosenExpiry) ? chosenExpiry : expiries[0].value;
  const enrolling = isEnrolling ? { enrollment: enrollmentOf(enrollment) } : {};
  const errors = useFormErrors({ isBusy, problem }, FIELDS, {
    label: label.trim(),
    scopes: scopesOf(allowance, scopes),
    ...enrolling,
    expires_at: [expiry, expiresAt],
  });
  const lacksScope = allowance === "some" && scopes.length === 0;
  const lacksTime = expiry === "at" && Number.isNaN(Date.parse(expiresAt));
  const lacksUses = isEnrolling && enrollment.uses === "";
  const isReady = label.trim() !== "" && !lacksScope && !lacksTime && !lacksUses;
  const submit = async () => {
    const created = await send("POST", "/v1/me/api-keys", {
      label: label.trim(),
      scopes: scopesOf(allowance, scopes),
      expires_at: expiryOf(expiry, expiresAt),
      ...enrolling,
    });
    if (created === null) return;
    invalidate(["keys"]);
    made(created);
  };
  return (
    <FormDialog
      title="New key"
      verb="Create key"
      isReady={isReady}
      isBusy={isBusy}
      errors={errors.rest}
      submit={submit}
      close={close}
    >
      <TextField
        label="Label"
        hint="Who or what will use the key. It shows later which key to revoke."
        value={label}
        change={setLabel}
        error={errors.of("label")}
        input={{ autofocus: true, required: true, maxLength: LABEL_LENGTH }}
      />
      <ChoiceField
        legend="It may"
        value={allowance}
        change={(value) => setAllowance(allowanceNamed(value))}
        error={errors.of("scopes")}
        options={allowancesOffered()}
      />
      {allowance === "some" ? <ScopeChoices chosen={scopes} change={setScopes} /> : null}
      {isEnrolling ? <EnrollmentFields draft={enrollment} change={setEnrollment} errors={errors} /> : null}
      <div class="field-pair">
        <SelectField
          label="Expires"
          value={expiry}
          change={setExpiry}
          options={expiries}
          error={expiry === "at" ? undefined : errors.of("expires_at")}
        />
        {expiry === "at" ? (
          <TextField
            label="Time"
            hint="In your time zone."
            type="datetime-local"
            value={expiresAt}
            change={setExpiresAt}
            error={errors.of("expires_at")}
            input={{ required: true }}
          />
        ) : null}
      </div>
      {ownKey === undefined ? null : <p class="field-hint">It ends when your own key, {labelOf(ownKey)}, ends.</p>}
    </FormDialog>
  );
}
