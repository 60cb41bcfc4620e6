import type { ColumnDefinitionBuilder, Kysely, Transaction as KyselyTransaction } from "kysely";

import type { DEPLOYMENT_STATUSES } from "../../../api/deployments.ts";
import type { READINESS_MODES } from "../../../api/fleets.ts";

/** A column: its type in SQL, and what its values are in TypeScript. */
export interface Column<Value> {
  readonly type: "text" | "integer";
  readonly constrain: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder;
  /** Never set: it carries the type. */
  readonly value?: Value;
}

const notNull: Column<unknown>["constrain"] = (column) => column.notNull();
const nullable: Column<unknown>["constrain"] = (column) => column;

const key: Column<string> = { type: "text", constrain: (column) => column.primaryKey().notNull() };
const text: Column<string> = { type: "text", constrain: notNull };
const uniqueText: Column<string> = { type: "text", constrain: (column) => column.notNull().unique() };
const optionalText: Column<string | null> = { type: "text", constrain: nullable };
const integer: Column<number> = { type: "integer", constrain: notNull };
const optionalInteger: Column<number | null> = { type: "integer", constrain: nullable };

const oneOf = <Value extends string>(): Column<Value> => ({ type: "text", constrain: notNull });
const optionalOneOf = <Value extends string>(): Column<Value | null> => ({ type: "text", constrain: nullable });
const referenceTo = (column: string): Column<string> => ({
  type: "text",
  constrain: (own) => own.notNull().references(column),
});
/** A reference. When the row that it refers to is deleted, this row is deleted, too. */
const ownedBy = (column: string): Column<string> => ({
  type: "text",
  constrain: (own) => own.notNull().references(column).onDelete("cascade"),
});
const optionalReferenceTo = (column: string): Column<string | null> => ({
  type: "text",
  constrain: (own) => own.references(column),
});

/** `unknown` until enough probes agree, see endpoints/health.ts. */
export type EndpointHealth = "unknown" | "healthy" | "failing";

/**
 * The tables of the store, equal in both databases, each after those that it refers to. Times are ISO 8601 in UTC with milliseconds, so that
 * they sort as text. Keys of several columns and indexes are in migrations.ts.
 */
export const TABLES = {
  organizations: {
    id: key,
    name: text,
    created_at: text,
  },
  api_keys: {
    id: key,
    organization_id: referenceTo("organizations.id"),
    label: text,
    /** Lowercase hex SHA-256 of the whole key, which is not stored. */
    key_sha256: uniqueText,
    key_prefix: text,
    key_last4: text,
    /** JSON array of scopes; null for an unrestricted key. */
    scopes: optionalText,
    created_at: text,
    last_used_at: optionalText,
    expires_at: optionalText,
    revoked_at: optionalText,
    /** Id of the key that it was created with, directly or in a session, or `command`. */
    created_by: text,
    /** The key that it depends on; null for an independent key. */
    parent_id: optionalText,
    /** JSON object of uses, site, region and labels of a key for enrolments; null for any other key. */
    enrolment: optionalText,
  },
  robots: {
    id: key,
    organization_id: referenceTo("organizations.id"),
    name: text,
    robot_type_id: text,
    region: text,
    configuration_digest: text,
    site: optionalText,
    /** JSON object of text to text. */
    labels: text,
    /** JSON object, or null where the robot's type is in the catalog. */
    contract: optionalText,
    /** What checkpoints judge it by: JSON object of what its contract says, and the SHA-256 of it in hex. Null without a contract. */
    equipment: optionalText,
    equipment_sha256: optionalText,
    created_at: text,
    /** When it last registered. */
    updated_at: text,
    /** When its type, region or contract last became others. */
    refitted_at: text,
    /** When anything of its registration last became other than before. */
    changed_at: text,
    /** Audit entry of the last registration that changed something. */
    audit_id: text,
    /** Since when, and when last, two computers registered its name in turn; null where that was never seen. */
    contested_since: optionalText,
    contested_at: optionalText,
    /** JSON object of the refusal since it registered last, see robots/refusals.ts; null if there was none. */
    last_refusal: optionalText,
    /** The key it was first registered with, by itself or through a session. */
    made_by: text,
    /** JSON object of the region that its computer worked out when it enrolled; null without one. */
    site_inference: optionalText,
    /** Its live installation; null where no computer speaks for it with a credential of its own. */
    installation_id: optionalText,
    /** When an operator removed it. Its name is free from then on; its row stays for the history. */
    removed_at: optionalText,
  },
  /** Each label of each robot, so that those with a label are found by an index. */
  robot_labels: {
    organization_id: text,
    /** SHA-256 of name and value, `labelHash`: of one length, because PostgreSQL bounds what an index holds. */
    label_sha256: text,
    robot_id: referenceTo("robots.id"),
  },
  /** Requests of computers for a credential of their own, from the start until a day after their end. */
  enrolments: {
    id: key,
    status: oneOf<"pending" | "approved" | "denied" | "expired" | "consumed">(),
    /** Base64url of the raw Ed25519 key. */
    public_key: text,
    /** Without the hyphen. It is unique, as is the key, among those that are pending or approved without an installation. */
    user_code: text,
    poll_token_sha256: text,
    requested_name: text,
    region: optionalText,
    /** JSON object, as sent but for `geolocation.ip`. */
    site_inference: optionalText,
    site: optionalText,
    /** JSON object of text to text. */
    labels: text,
    configuration_digest: text,
    robot_type_id: optionalText,
    contract: optionalText,
    /** The only organization that can find the code, and for a key for enrolments its own; null for any. */
    wanted_organization_id: optionalText,
    client_address: text,
    /** The address, or the /48 of an IPv6 address. */
    client_site: text,
    created_at: text,
    expires_at: text,
    /** From the approval on, as are the members below. */
    organization_id: optionalReferenceTo("organizations.id"),
    /** `key_…` or `ses_…`. */
    decided_by: optionalText,
    /** The key itself, or the key that the session goes back to: a robot that the enrolment adds is made by it. */
    made_by: optionalText,
    decided_at: optionalText,
    decided_name: optionalText,
    decided_region: optionalText,
    /** 1 if the operator agreed to replace a robot that is online. */
    confirm_replace: integer,
    /** The key for enrolments that approved it at its start; null if a person decides. */
    key_id: optionalText,
    installation_id: optionalText,
  },
  /** A computer that may speak for a robot; at most one of a robot is not revoked. */
  installations: {
    id: key,
    organization_id: referenceTo("organizations.id"),
    robot_id: referenceTo("robots.id"),
    public_key: text,
    state: oneOf<"active" | "frozen" | "revoked">(),
    /** How many times it renewed, from 1 on; several credentials may have the newest generation. */
    generation: integer,
    enrolled_at: text,
    approved_by: text,
    revoked_at: optionalText,
    /** When the credential that was issued last expires. */
    credential_expires_at: text,
    /** How many times in a row it may renew after the expiry, and until when. */
    recoveries_remaining: integer,
    recovery_until: text,
    /** What its last heartbeat said, and when it came; see identity/presence.ts for how late this is. */
    readiness: optionalOneOf<"ready" | "not_ready">(),
    reason: optionalText,
    runtime_version: optionalText,
    manifest_digest: optionalText,
    last_seen_at: optionalText,
    last_address: optionalText,
  },
  robot_credentials: {
    token_sha256: key,
    organization_id: referenceTo("organizations.id"),
    installation_id: referenceTo("installations.id"),
    generation: integer,
    /**
     * `newest`: of the installation's generation. `previous`: what the newest was renewed with. `displaced`: newest when another value
     * renewed. `superseded`: any older one.
     */
    standing: oneOf<"newest" | "previous" | "displaced" | "superseded">(),
    issued_at: text,
    expires_at: text,
    /** When the robot should renew it: what it is told counts down to this. */
    renew_at: text,
    /** Until when a previous value still works. */
    grace_until: optionalText,
    /** First accepted use. */
    used_at: optionalText,
    /** The generation whose first use proves that a displaced value is held twice. */
    displaced_by: optionalInteger,
  },
  /** Nonces of accepted renewals, kept as long as the installation lives: a replay must not answer with a credential. */
  renewal_nonces: {
    installation_id: referenceTo("installations.id"),
    nonce_sha256: text,
    used_at: text,
  },
  /** One row: when the catalog was last applied. It is locked while a catalog is applied. */
  catalogs: {
    id: key,
    applied_at: optionalText,
  },
  /** The catalog belongs to the service, not to an organization. */
  models: {
    slug: key,
    display_name: text,
    vendor: optionalText,
    model_type: optionalText,
    license_tier: optionalText,
    /** The checkpoint that the slug stands for. */
    default_checkpoint_id: text,
    created_at: text,
    /** When it was removed from the catalog; fleets and deployments that use it keep it. */
    withdrawn_at: optionalText,
  },
  checkpoints: {
    id: key,
    model_slug: referenceTo("models.slug"),
    /** JSON object, see models/requirements.ts. */
    requirements: text,
    created_at: text,
    withdrawn_at: optionalText,
  },
  /** The endpoints of a checkpoint, one row per region, with the results of probes. */
  endpoints: {
    checkpoint_id: referenceTo("checkpoints.id"),
    region: text,
    url: text,
    health_url: text,
    /** Key path in the health document, a JSON object, and the text there if the server serves this checkpoint. Null where it says no model. */
    model_member: optionalText,
    model_value: optionalText,
    health: oneOf<EndpointHealth>(),
    /** Number of consecutive probes that contradict `health`, see endpoints/health.ts. */
    contrary_probes: integer,
    /** When `health` last changed. */
    health_since: optionalText,
    last_probed_at: optionalText,
    /** Why the last probe failed, in a few words; null if it succeeded. */
    last_error: optionalText,
    /** When the next probe is due. */
    next_probe_at: text,
    /** The claim of the probe in progress, and when the claim expires. */
    probe_id: optionalText,
    probe_expires_at: optionalText,
    withdrawn_at: optionalText,
  },
  /** How long endpoints took to become healthy once they were needed; the newest of each model are kept. */
  preparations: {
    id: key,
    model_slug: text,
    checkpoint_id: text,
    region: text,
    seconds: integer,
    observed_at: text,
  },
  fleets: {
    id: key,
    organization_id: referenceTo("organizations.id"),
    name: text,
    readiness_mode: oneOf<(typeof READINESS_MODES)[number]>(),
    peak_active_robots: integer,
    /** JSON array of milliseconds since the epoch: start and end of each window, in order of time. */
    operating_windows: text,
    /** JSON object with kind and selector: how its members were selected. */
    selection: text,
    /** The generation in use. */
    generation_id: text,
    /** The generation that is being prepared to replace it. */
    update_generation_id: optionalText,
    created_at: text,
    /** When an operator removed it. Its name is free from then on; its row stays for the history. */
    removed_at: optionalText,
  },
  /** The windows of `fleets`, one per row, so that an index finds them by time. */
  fleet_windows: {
    organization_id: text,
    fleet_id: referenceTo("fleets.id"),
    /** Milliseconds since the epoch. */
    starts_ms: integer,
    ends_ms: integer,
  },
  fleet_members: {
    fleet_id: referenceTo("fleets.id"),
    robot_id: referenceTo("robots.id"),
  },
  /** A fleet's model over time: each creation and update starts one. */
  generations: {
    id: key,
    fleet_id: referenceTo("fleets.id"),
    /** As the client sent it: a slug or a checkpoint id. */
    subject: text,
    checkpoint_id: referenceTo("checkpoints.id"),
    created_at: text,
    /** When all endpoints it needs were healthy for the first time. */
    activated_at: optionalText,
    /** When a newer generation replaced it, before or after it was active. */
    superseded_at: optionalText,
  },
  deployments: {
    id: key,
    organization_id: referenceTo("organizations.id"),
    robot_id: referenceTo("robots.id"),
    model_slug: text,
    checkpoint_id: referenceTo("checkpoints.id"),
    region: text,
    status: oneOf<(typeof DEPLOYMENT_STATUSES)[number]>(),
    /** Created with the deployment; shown once that is active. */
    generation_id: text,
    last_error_code: optionalText,
    created_at: text,
    /** When it first became active. */
    activated_at: optionalText,
    retired_at: optionalText,
    /** Start of the running usage period; null if none is running. */
    usage_from: optionalText,
    /** Id of the running period in the ledger, so that it cannot be entered twice. */
    usage_id: optionalText,
    /** End of the last period in the ledger. The robot's next one starts at or after it, unless a wrong clock put it far ahead. */
    usage_until: optionalText,
  },
  /** The ledger. Rows are never changed. */
  usage_records: {
    id: key,
    organization_id: referenceTo("organizations.id"),
    deployment_id: referenceTo("deployments.id"),
    robot_name: text,
    model_slug: text,
    usage_type: text,
    sku: text,
    quantity: integer,
    unit: text,
    period_start: text,
    period_end: text,
    created_at: text,
  },
  /** Logins in progress: a program waits for the decision of a person. */
  login_exchanges: {
    id: key,
    /** Lowercase hex SHA-256, as of every secret here. */
    verifier_sha256: text,
    callback_url: text,
    /** Who started it. */
    client_address: text,
    /** The address, or the /48 of an IPv6 address. */
    client_site: text,
    /** Its User-Agent; null without one. */
    client_program: optionalText,
    /** How the program gets the token, chosen by the person who approved; null until then. */
    delivery: optionalOneOf<"redirect" | "poll">(),
    state: oneOf<"pending" | "approved" | "denied" | "used">(),
    code_sha256: optionalText,
    /** Whose key approved; the session will belong to it. */
    organization_id: optionalReferenceTo("organizations.id"),
    approved_by: optionalText,
    last_polled_at: optionalText,
    created_at: text,
    expires_at: text,
  },
  sessions: {
    id: key,
    organization_id: referenceTo("organizations.id"),
    /** `cli`: the token is sent in a header; `console`: in a cookie. */
    kind: oneOf<"cli" | "console">(),
    token_sha256: uniqueText,
    /** The key that it depends on. */
    created_by: text,
    /** The scopes of that key. */
    scopes: optionalText,
    created_at: text,
    last_used_at: optionalText,
    expires_at: text,
    revoked_at: optionalText,
  },
  /** Every change, written in the transaction that makes it. Old entries are deleted after the configured time. */
  audit_log: {
    id: key,
    /** Null for changes of the service, such as of its catalog. */
    organization_id: optionalText,
    at: text,
    /** `key_…`, `ses_…`, or `command` for the commands of robot-policy-service. */
    actor: text,
    request_id: optionalText,
    action: text,
    /** Id of the changed object. */
    subject_id: text,
    /** JSON object; never a secret. */
    details: text,
  },
  /** What the digest of a registration covers, as its robot said; they go with the entry of the registration. */
  registration_parts: {
    audit_id: {
      type: "text",
      constrain: (own) => own.primaryKey().notNull().references("audit_log.id").onDelete("cascade"),
    },
    /** JSON array, see robots/parts.ts. */
    parts: text,
  },
  /** Contracts, and configuration files that robots share, each once by its hash. */
  contents: {
    organization_id: text,
    /** In hex. */
    sha256: text,
    text,
    bytes: integer,
  },
  /** Which registration names which content. A content that none names is deleted. */
  content_uses: {
    organization_id: text,
    sha256: text,
    audit_id: ownedBy("audit_log.id"),
  },
  /** Where events of an organization are sent. */
  webhooks: {
    id: key,
    organization_id: referenceTo("organizations.id"),
    url: text,
    /** JSON array of types; null for all events. */
    events: optionalText,
    /** `whsec_…`, in clear, because each event is signed with it. */
    secret: text,
    created_at: text,
    /** Signs, too, until the time below. */
    previous_secret: optionalText,
    previous_secret_until: optionalText,
    /** Why the last attempt failed, in a few words, and when; null if it succeeded. */
    last_error: optionalText,
    last_error_at: optionalText,
  },
  /** Events that wait to be delivered, written in the transaction of what they tell. */
  webhook_outbox: {
    id: key,
    webhook_id: ownedBy("webhooks.id"),
    /** The same for each webhook. */
    event_id: text,
    /** JSON text, as sent and signed. */
    body: text,
    /** Number of failed attempts. */
    attempts: integer,
    /** When it is due. While an attempt runs: when it is due if the process dies. */
    next_attempt_at: text,
  },
  /** The state of robots and fleets that webhooks were told last. */
  reported_states: {
    subject_id: key,
    organization_id: text,
    kind: oneOf<"robot" | "fleet">(),
    /** Of a robot `online` or `offline`, of a fleet its status. */
    state: text,
    reported_at: text,
  },
} satisfies Record<string, Record<string, Column<unknown>>>;

/** Columns that a later step adds; a table with all of its columns is new. */
export const ADDED = {
  robots: ["last_refusal"],
  endpoints: ["model_member", "model_value"],
  webhooks: ["previous_secret", "previous_secret_until", "last_error", "last_error_at"],
  registration_parts: ["audit_id", "parts"],
  contents: ["organization_id", "sha256", "text", "bytes"],
  content_uses: ["organization_id", "sha256", "audit_id"],
  webhook_outbox: ["id", "webhook_id", "event_id", "body", "attempts", "next_attempt_at"],
} as const satisfies Partial<Record<keyof typeof TABLES, readonly string[]>>;

/** What the first step of the schema makes and a later one drops. */
export const DROPPED = {
  // Once, each registration had an audit entry, and each referred to the one before.
  robots: { previous_audit_id: optionalText, recent_changes: text },
  audit_log: { previous_id: optionalText },
  refusals: {
    id: key,
    organization_id: text,
    robot: text,
    status: integer,
    actor: text,
    address: text,
    detail: text,
    request_id: optionalText,
    first_at: text,
    last_at: text,
    count: integer,
  },
  // Earlier versions let robots join and leave a fleet when they began or ceased to match its selector.
  fleets: { follows_since: optionalText, left_out_robot_id: optionalText },
  api_keys: { robots: optionalText, max_robots: optionalInteger },
  // Earlier versions counted each use of an enrolment key.
  key_uses: { key_id: referenceTo("api_keys.id"), slot: integer, remaining: integer },
  enrolments: { allowed_key_id: optionalText },
  allowed_keys: {
    id: key,
    organization_id: referenceTo("organizations.id"),
    key_fingerprint: text,
    created_at: text,
    expires_at: text,
    created_by: text,
    made_by: text,
    used_at: optionalText,
    robot_id: optionalText,
  },
  webhooks: {
    listening_since: text,
    failing_since: optionalText,
    full_since: optionalText,
    dropped_events: integer,
    disabled_at: optionalText,
    disabled_reason: optionalText,
    removed_at: optionalText,
  },
  webhook_deliveries: {
    id: key,
    organization_id: text,
    webhook_id: text,
    event_id: text,
    event_type: text,
    body: text,
    status: text,
    attempts: integer,
    created_at: text,
    next_attempt_at: text,
    claim_id: optionalText,
    last_attempt_at: optionalText,
    last_status: optionalInteger,
    last_error: optionalText,
  },
  fleet_checks: { id: key, organization_id: text, subject_id: text, actor: text, request_id: optionalText },
  limits_met: {
    limit_name: text,
    party: text,
    organization_id: optionalText,
    first_at: text,
    last_at: text,
    count: integer,
  },
} satisfies Record<string, Record<string, Column<unknown>>>;

type Row<Columns> = { [Name in keyof Columns]: Columns[Name] extends Column<infer Value> ? Value : never };

/** The rows of each table, for Kysely. */
export type Tables = { [Name in keyof typeof TABLES]: Row<(typeof TABLES)[Name]> };

/** Runs queries on committed data, or within a transaction. */
export type Reader = Kysely<Tables>;

/** What a job of `Store.write` runs its queries in. */
export type Transaction = KyselyTransaction<Tables>;
