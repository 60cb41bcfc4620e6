import type * as z from "zod";

import type { apiKeyCreatedSchema, ApiKeyView } from "../../../api/keys.ts";
import type { ApiKeyScope, ENROLL_SCOPE } from "../../../api/wire/scopes.ts";
import { expiryOf, labelOf, USUAL_DAYS } from "../../../views/keys.ts";
import { serviceNow } from "../data/request.ts";
import { mayDo, ownScopes } from "../data/session.ts";
import type { Change } from "../parts/form/change.tsx";
import { entered, type FieldSpec, type Option } from "../parts/form/fields.tsx";
import { absoluteTime } from "../parts/relative-time.tsx";

/** Creates a key and shows it once. @param own the key that the person signed in with, if it is listed. */
export function newKey(own: ApiKeyView | undefined): Change<z.output<typeof apiKeyCreatedSchema>> {
  return {
    scope: "api-keys:write",
    word: "New key",
    kind: "main",
    title: "New key",
    verb: "Create key",
    initial: { may: mayDo("robots:setup") ? "robot" : "some" },
    useForm: (data) => ({
      fields: fieldsOf(data),
      below: own === undefined ? null : <p class="field-hint">It ends when your own key, {labelOf(own)}, ends.</p>,
    }),
    requestOf: (data) => ({ method: "POST", path: "/v1/me/api-keys", body: bodyOf(data) }),
    topics: ["keys"],
    made: ({ api_key: apiKey, label, expires_at: expiresAt }) => ({
      secret: apiKey,
      title: `The key ${label ?? ""}`,
      what: "key",
      note:
        "Copy it to where it will be used. It is shown only once: the service stores just its hash and last four characters." +
        (typeof expiresAt === "string" ? ` It works until ${absoluteTime(expiresAt)}.` : ""),
    }),
  };
}

/** The service's limit in code points; the browser counts UTF-16 units, of which there are at least as many. */
const LABEL_LENGTH = 256;

function fieldsOf(data: FormData): readonly FieldSpec[] {
  const may = entered(data, "may");
  return [
    {
      name: "label",
      label: "Label",
      hint: "Who or what will use the key. It shows later which key to revoke.",
      input: { autofocus: true, required: true, maxLength: LABEL_LENGTH },
    },
    { name: "may", label: "It may", kind: "radio", options: allowances() },
    ...(may === "some" ? [scopesField()] : []),
    ...(may === "enroll" ? ENROLLMENT_FIELDS : []),
    { name: "expires_at", label: "Expires", kind: "select", options: expiriesOf(may) },
  ];
}

/**
 * When a key expires, the usual first: a key that may do more than register robots works for 90 days. "Never" has another value there, so
 * that the browser does not keep it chosen when the person gives a key for robots more to do.
 */
function expiriesOf(may: string): readonly Option[] {
  // With a key that enrolls robots these need no approval, so the service allows 90 days at most.
  const days = may === "enroll" ? [7, 30, 90] : [USUAL_DAYS, 30, 365];
  const choices = days.map((count) => ({ value: String(count), word: `In ${count} days` }));
  if (may === "robot") return [{ value: "", word: "Never" }, ...choices];
  return may === "enroll" ? choices : [...choices, { value: "never", word: "Never" }];
}

/** What a new key may do. Offers only what the person's own key allows: the service refuses the rest. */
function allowances(): readonly Option[] {
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

function scopesField(): FieldSpec {
  const options = Object.entries(SCOPES)
    .filter(([scope]) => ownScopes()?.includes(scope) ?? true)
    .map(([value, word]) => ({ value, word, hint: <span class="mono">{value}</span> }));
  return { name: "scopes", label: "Scopes", kind: "checkboxes", options, input: { required: true } };
}

/** The service's limit. */
const USES_MAXIMUM = 100_000;

/** What a key for enrolments is for. */
const ENROLLMENT_FIELDS: readonly FieldSpec[] = [
  {
    name: "enrollment.uses",
    label: "Robots at most",
    hint: "How many may enroll. It never takes over a robot that exists: such an enrolment waits for an approval.",
    kind: "number",
    input: { required: true, min: "1", max: String(USES_MAXIMUM), step: "1" },
  },
  {
    name: "enrollment.site",
    label: "Site",
    hint: "Leave it empty for what each robot says.",
    input: { maxLength: 128 },
  },
  { name: "enrollment.region", label: "Region", hint: "Leave it empty for what each robot says." },
];

function bodyOf(data: FormData) {
  const may = entered(data, "may");
  const [site, region] = [entered(data, "enrollment.site"), entered(data, "enrollment.region")];
  const enrollment = {
    uses: Number(entered(data, "enrollment.uses")),
    ...(site === "" ? {} : { site }),
    ...(region === "" ? {} : { region }),
  };
  return {
    label: entered(data, "label"),
    scopes: scopesOf(may, data),
    expires_at: expiryOf(entered(data, "expires_at"), serviceNow()),
    ...(may === "enroll" ? { enrollment } : {}),
  };
}

function scopesOf(may: string, data: FormData): readonly unknown[] | null {
  if (may === "everything") return null;
  if (may === "robot") return ["robots:setup"];
  return may === "enroll" ? ["robots:enroll"] : data.getAll("scopes");
}
