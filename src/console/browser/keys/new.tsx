import { useState } from "preact/hooks";

import type { ApiKeyView } from "../../../api/keys.ts";
import type { ApiKeyScope } from "../../../api/wire/scopes.ts";
import { invalidate } from "../data/cache.ts";
import { useWrite } from "../data/use-write.ts";
import { Dialog } from "../parts/form/dialog.tsx";
import { ChoiceField, FieldError, SelectField, TextField } from "../parts/form/fields.tsx";
import { useFormErrors } from "../parts/form/use-form-errors.ts";
import { isOwn, labelOf, ownScopes, SCOPES } from "./data.ts";
import { EXPIRIES, expiryOf } from "./expiry.ts";
import { KeyShownOnce } from "./shown-once.tsx";
import type { CreatedKey } from "./shown-once.tsx";

/** Creates a key and shows it once. */
export function NewKeyDialog({ keys, close }: NewKeyProps) {
  const [created, setCreated] = useState<CreatedKey | null>(null);
  return created === null ? (
    <KeyForm own={keys.find(isOwn)} made={setCreated} close={close} />
  ) : (
    <KeyShownOnce created={created} close={close} />
  );
}

interface NewKeyProps {
  /** All keys. */
  readonly keys: readonly ApiKeyView[];
  close(): void;
}

/** The service's limit in code points; the browser counts UTF-16 units, of which there are at least as many. */
const LABEL_LENGTH = 256;
/** The service's limit of `max_robots`. */
const MAX_ROBOTS = 1_000_000;

/** `robot` allows only to register robots. */
type Allowance = "robot" | "some" | "everything";

interface KeyFormProps {
  /** The key that the person signed in with, if it is listed. */
  readonly own: ApiKeyView | undefined;
  made(key: CreatedKey): void;
  close(): void;
}

function KeyForm({ own: ownKey, made, close }: KeyFormProps) {
  const own = ownScopes();
  const [independent, setIndependent] = useState(false);
  const [label, setLabel] = useState("");
  const [allowance, setAllowance] = useState<Allowance>(mayGive(own, "robots:setup") ? "robot" : "some");
  const [scopes, setScopes] = useState<readonly ApiKeyScope[]>([]);
  const [robot, setRobot] = useState("");
  const [maxRobots, setMaxRobots] = useState("");
  const [expiry, setExpiry] = useState("");
  const [expiresAt, setExpiresAt] = useState("");
  const { send, isBusy, problem } = useWrite<CreatedKey>();
  const binding = allowance === "robot" ? bindingOf(robot, maxRobots) : {};
  const errors = useFormErrors(problem, ["label", "scopes", "robots", "max_robots", "expires_at"], {
    label: label.trim(),
    scopes: scopesOf(allowance, scopes),
    ...binding,
    expires_at: [expiry, expiresAt],
  });
  const lacksScope = allowance === "some" && scopes.length === 0;
  const lacksTime = expiry === "at" && Number.isNaN(Date.parse(expiresAt));
  const isReady = label.trim() !== "" && !lacksScope && !lacksTime;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isReady) return;
    const created = await send("POST", "/v1/me/api-keys", {
      label: label.trim(),
      scopes: scopesOf(allowance, scopes),
      expires_at: expiryOf(expiry, expiresAt),
      ...(independent ? { independent } : {}),
      ...binding,
    });
    if (created === null) return;
    invalidate(["keys"]);
    made(created);
  };
  return (
    <Dialog title="New key" close={close} isBusy={isBusy}>
      <form class="form" onSubmit={submit}>
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
          change={(value) => setAllowance(ALLOWANCES.find((each) => each === value) ?? "some")}
          error={errors.of("scopes")}
          options={allowancesOf(own)}
        />
        {allowance === "some" ? <ScopeChoices own={own} chosen={scopes} change={setScopes} /> : null}
        {allowance === "robot" ? (
          <div class="field-pair">
            <TextField
              label="Only this robot"
              hint="The name under which the robot registers. Leave it empty for any robot."
              value={robot}
              change={setRobot}
              error={errors.of("robots")}
            />
            <TextField
              label="New robots at most"
              hint="Leave it empty for the service's own limit."
              type="number"
              value={maxRobots}
              change={setMaxRobots}
              error={errors.of("max_robots")}
              input={{ min: "1", max: String(MAX_ROBOTS), step: "1" }}
            />
          </div>
        ) : null}
        <div class="field-pair key-expiry">
          <SelectField
            label="Expires"
            value={expiry}
            change={setExpiry}
            options={EXPIRIES}
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
        <Ending ownKey={ownKey} independent={independent} change={setIndependent} />
        {errors.rest.map((text) => (
          <FieldError key={text} text={text} />
        ))}
        <div class="buttons">
          <button type="button" class="button" disabled={isBusy} onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button button-main" disabled={!isReady} aria-disabled={isBusy}>
            Create key
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface EndingProps {
  readonly ownKey: ApiKeyView | undefined;
  readonly independent: boolean;
  change(independent: boolean): void;
}

/** A key ends with the key that created it. Only an unrestricted key without expiry may create an independent one. */
function Ending({ ownKey, independent, change }: EndingProps) {
  if (ownKey === undefined) return null;
  const mayChoose = ownKey.scopes === null && ownKey.expires_at === null;
  if (!mayChoose) return <p class="field-hint">It ends when your own key, {labelOf(ownKey)}, ends.</p>;
  return (
    <label class="choice">
      <input type="checkbox" checked={independent} onChange={({ currentTarget: { checked } }) => change(checked)} />
      <span>Independent</span>
      <span class="field-hint">It keeps working when your own key, {labelOf(ownKey)}, is revoked.</span>
    </label>
  );
}

/** The members of the request that restrict the key to robots. */
function bindingOf(robot: string, maxRobots: string) {
  return {
    ...(robot.trim() === "" ? {} : { robots: [robot.trim()] }),
    ...(maxRobots === "" ? {} : { max_robots: Number(maxRobots) }),
  };
}

const ALLOWANCES: readonly Allowance[] = ["robot", "some", "everything"];

/** Offers only what the person's own key allows: the service refuses the rest. */
function allowancesOf(own: readonly string[] | null) {
  return [
    ...(mayGive(own, "robots:setup")
      ? [{ value: "robot", word: "Register robots", hint: "All that robot-policy-agent needs on a robot." }]
      : []),
    { value: "some", word: "Do what I choose" },
    ...(own === null
      ? [{ value: "everything", word: "Do everything", hint: "For people; creating and revoking keys too." }]
      : []),
  ];
}

interface ScopeChoicesProps {
  readonly own: readonly string[] | null;
  readonly chosen: readonly ApiKeyScope[];
  change(scopes: readonly ApiKeyScope[]): void;
}

function ScopeChoices({ own, chosen, change }: ScopeChoicesProps) {
  return (
    <fieldset class="choices scope-choices">
      <legend class="field-label">Scopes</legend>
      {SCOPE_NAMES.filter((scope) => mayGive(own, scope)).map((scope) => (
        <label key={scope} class="choice">
          <input
            type="checkbox"
            checked={chosen.includes(scope)}
            onChange={({ currentTarget: { checked } }) =>
              change(checked ? [...chosen, scope] : chosen.filter((each) => each !== scope))
            }
          />
          <span>{SCOPES[scope]}</span>
          <span class="field-hint mono">{scope}</span>
        </label>
      ))}
    </fieldset>
  );
}

const SCOPE_NAMES = Object.keys(SCOPES).filter(isScope);

function isScope(name: string): name is ApiKeyScope {
  return name in SCOPES;
}

function mayGive(own: readonly string[] | null, scope: ApiKeyScope): boolean {
  return own === null || own.includes(scope);
}

function scopesOf(allowance: Allowance, chosen: readonly ApiKeyScope[]): readonly ApiKeyScope[] | null {
  switch (allowance) {
    case "robot":
      return ["robots:setup"];
    case "some":
      return chosen;
    case "everything":
      return null;
  }
}
