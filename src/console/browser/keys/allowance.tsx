import type { ApiKeyScope, ENROLL_SCOPE } from "../../../api/wire/scopes.ts";
import { mayDo, ownScopes } from "../data/session.ts";
import { CheckboxesField } from "../parts/form/fields.tsx";

/** The scopes of keys, in words. */
const SCOPES = {
  "robots:setup": "Register robots",
  "robots:read": "See robots",
  "robots:write": "Approve and remove robots",
  "fleets:write": "Create and change fleets",
  "fleets:read": "See fleets",
  "deployments:write": "Deploy and retire",
  "deployments:read": "See deployments",
  "api-keys:write": "Create and revoke keys",
  "api-keys:read": "See keys",
  "models:read": "See the catalog",
  "usage:read": "See usage",
  "audit:read": "See who changed what",
  "webhooks:write": "Create and delete webhooks",
  "webhooks:read": "See webhooks",
} as const satisfies Record<Exclude<ApiKeyScope, typeof ENROLL_SCOPE>, string>;

const ALLOWANCES = ["robot", "enroll", "some", "everything"] as const;

/** What a new key may do. `robot` allows only to register robots, `enroll` only to enroll them. */
export type Allowance = (typeof ALLOWANCES)[number];

export function allowanceNamed(name: string): Allowance {
  return ALLOWANCES.find((each) => each === name) ?? "some";
}

/** Offers only what the person's own key allows: the service refuses the rest. */
export function allowancesOffered() {
  const mayAll = ownScopes() === null;
  return [
    ...(mayDo("robots:setup")
      ? [{ value: "robot", word: "Register robots", hint: "All that robot-policy-agent needs on a robot." }]
      : []),
    // Needs what the key would have, and no key that enrolls robots creates another one.
    ...(mayAll
      ? [{ value: "enroll", word: "Enroll robots", hint: "Many new robots, without an approval of each." }]
      : []),
    { value: "some", word: "Do what I choose" },
    ...(mayAll
      ? [{ value: "everything", word: "Do everything", hint: "For people; creating and revoking keys too." }]
      : []),
  ];
}

interface ScopeChoicesProps {
  readonly chosen: readonly ApiKeyScope[];
  change(scopes: readonly ApiKeyScope[]): void;
}

export function ScopeChoices({ chosen, change }: ScopeChoicesProps) {
  return (
    <CheckboxesField
      legend="Scopes"
      chosen={chosen}
      change={change}
      options={SCOPE_NAMES.filter(mayDo).map((scope) => ({
        value: scope,
        word: SCOPES[scope],
        hint: <span class="mono">{scope}</span>,
      }))}
    />
  );
}

const SCOPE_NAMES = Object.keys(SCOPES).filter(isScope);

function isScope(name: string): name is keyof typeof SCOPES {
  return name in SCOPES;
}

export function scopesOf(allowance: Allowance, chosen: readonly ApiKeyScope[]): readonly ApiKeyScope[] | null {
  switch (allowance) {
    case "robot":
      return ["robots:setup"];
    case "enroll":
      return ["robots:enroll"];
    case "some":
      return chosen;
    case "everything":
      return null;
  }
}
