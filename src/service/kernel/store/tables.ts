import type { DEPLOYMENT_STATUSES } from "../../../api/deployments.ts";
import type { READINESS_MODES } from "../../../api/fleets.ts";
import type { RobotTextName } from "../../../api/robot-texts.ts";

type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];
type ReadinessMode = (typeof READINESS_MODES)[number];

/** The tables of the store, equal in both databases. Times are ISO 8601 in UTC with milliseconds, so that they sort as text. */
export interface Tables {
  organizations: {
    id: string;
    name: string;
    created_at: string;
  };
  api_keys: {
    id: string;
    organization_id: string;
    label: string;
    /** Lowercase hex SHA-256 of the whole key, which is not stored. */
    key_sha256: string;
    key_prefix: string;
    key_last4: string;
    /** JSON array of scopes; null for an unrestricted key. */
    scopes: string | null;
    created_at: string;
    last_used_at: string | null;
    expires_at: string | null;
    revoked_at: string | null;
    /** Id of the key that it was created with, directly or in a session, or `command`. */
    created_by: string;
    /** The key that it depends on; null for an independent key. */
    parent_id: string | null;
    /** JSON array of the names of the robots that it may set up; null for any. */
    robots: string | null;
    /** Maximum number of robots it may add; null for no maximum besides the limits of the service. */
    max_robots: number | null;
    /** JSON object of uses, site, region and labels of a key for enrolments; null for any other key. */
    enrolment: string | null;
  };
  /** Enrolments that a key still approves, in parts, so that transactions which take one at the same time lock different rows. */
  key_uses: {
    key_id: string;
    slot: number;
    remaining: number;
  };
  robots: {
    id: string;
    organization_id: string;
    name: string;
    robot_type_id: string;
    region: string;
    configuration_digest: string;
    /** JSON object of text to text. */
    labels: string;
    /** JSON object, or null where the robot's type is in the catalog. */
    contract: string | null;
    /** What checkpoints judge it by: JSON object of what its contract says, and the SHA-256 of it in hex. Null without a contract. */
    equipment: string | null;
    equipment_sha256: string | null;
    created_at: string;
    /** When it last registered. */
    updated_at: string;
    /** When its type, region or contract last became others. */
    refitted_at: string;
    /** When anything of its registration last became other than before. */
    changed_at: string;
    /** Audit entries of its last registration and of the one before, null where there was none. */
    audit_id: string;
    previous_audit_id: string | null;
    /** JSON array of changes, newest first, as robots/history/contest.ts judges them. */
    recent_changes: string;
    /** Since when, and when last, two computers registered its name in turn; null where that was never seen. */
    contested_since: string | null;
    contested_at: string | null;
    /** The key it was first registered with, by itself or through a session. */
    made_by: string;
    /** JSON object of the region that its computer worked out when it enrolled; null without one. */
    site_inference: string | null;
    /** Its live installation; null where no computer speaks for it with a credential of its own. */
    installation_id: string | null;
    /** When an operator removed it. Its name is free from then on; its row stays for the history. */
    removed_at: string | null;
  } & Record<RobotTextName, string | null>;
  /** Requests of computers for a credential of their own, from the start until a day after their end. */
  enrolments: {
    id: string;
    status: "pending" | "approved" | "denied" | "expired" | "consumed";
    /** Base64url of the raw Ed25519 key. */
    public_key: string;
    /** Without the hyphen. It is unique, as is the key, among those that are pending or approved without an installation. */
    user_code: string;
    poll_token_sha256: string;
    requested_name: string;
    region: string | null;
    /** JSON object, as sent but for `geolocation.ip`. */
    site_inference: string | null;
    site: string | null;
    /** JSON object of text to text. */
    labels: string;
    configuration_digest: string;
    robot_type_id: string | null;
    contract: string | null;
    /** The only organization that can find the code, and for a key for enrolments its own; null for any. */
    wanted_organization_id: string | null;
    client_address: string;
    /** The address, or the /48 of an IPv6 address. */
    client_site: string;
    created_at: string;
    expires_at: string;
    /** From the approval on, as are the members below. */
    organization_id: string | null;
    /** `key_…` or `ses_…`. */
    decided_by: string | null;
    /** The key itself, or the key that the session goes back to: a robot that the enrolment adds is made by it. */
    made_by: string | null;
    decided_at: string | null;
    decided_name: string | null;
    decided_region: string | null;
    /** 1 if the operator agreed to replace a robot that is online. */
    confirm_replace: number;
    /** The key for enrolments that approved it at its start; null if a person decides. */
    key_id: string | null;
    /** The entry of the list of allowed keys that approved it at its start; null if a person decides. */
    allowed_key_id: string | null;
    installation_id: string | null;
  };
  /** Keys whose computers enrol without a person, each once. */
  allowed_keys: {
    id: string;
    organization_id: string;
    /** `SHA256:…`. Unique in an organization. */
    key_fingerprint: string;
    created_at: string;
    /** ISO 8601; the entry is deleted a day later. */
    expires_at: string;
    /** `key_…` or `ses_…`. */
    created_by: string;
    /** The key itself, or the key that the session goes back to: the entry ends with it, unless it was used. */
    made_by: string;
    used_at: string | null;
    robot_id: string | null;
  };
  /** A computer that may speak for a robot; at most one of a robot is not revoked. */
  installations: {
    id: string;
    organization_id: string;
    robot_id: string;
    public_key: string;
    state: "active" | "frozen" | "revoked";
    /** How many times it renewed, from 1 on; several credentials may have the newest generation. */
    generation: number;
    enrolled_at: string;
    approved_by: string;
    revoked_at: string | null;
    /** When the credential that was issued last expires. */
    credential_expires_at: string;
    /** How many times in a row it may renew after the expiry, and until when. */
    recoveries_remaining: number;
    recovery_until: string;
    /** What its last heartbeat said, and when it came; see installations/liveness.ts for how late this is. */
    readiness: "ready" | "not_ready" | null;
    reason: string | null;
    runtime_version: string | null;
    manifest_digest: string | null;
    last_seen_at: string | null;
    last_address: string | null;
  };
  robot_credentials: {
    token_sha256: string;
    organization_id: string;
    installation_id: string;
    generation: number;
    /**
     * `newest`: of the installation's generation. `previous`: what the newest was renewed with. `displaced`: newest when another value
     * renewed. `superseded`: any older one.
     */
    standing: "newest" | "previous" | "displaced" | "superseded";
    issued_at: string;
    expires_at: string;
    /** When the robot should renew it: what it is told counts down to this. */
    renew_at: string;
    /** Until when a previous value still works. */
    grace_until: string | null;
    /** First accepted use. */
    used_at: string | null;
    /** The generation whose first use proves that a displaced value is held twice. */
    displaced_by: number | null;
  };
  /** Nonces of accepted renewals, kept as long as the installation lives: a replay must not answer with a credential. */
  renewal_nonces: {
    installation_id: string;
    nonce_sha256: string;
    used_at: string;
  };

  /** Each label of each robot, so that those with a label are found by an index. */
  robot_labels: {
    organization_id: string;
    /** SHA-256 of name and value, `labelHash`: of one length, because PostgreSQL bounds what an index holds. */
    label_sha256: string;
    robot_id: string;
  };

  /** One row: when the catalog was last applied. It is locked while a catalog is applied. */
  catalogs: {
    id: string;
    applied_at: string | null;
  };
  /** The catalog belongs to the service, not to an organization. */
  models: {
    slug: string;
    display_name: string;
    vendor: string | null;
    model_type: string | null;
    license_tier: string | null;
    /** The checkpoint that the slug stands for. */
    default_checkpoint_id: string;
    created_at: string;
    /** When it was removed from the catalog; fleets and deployments that use it keep it. */
    withdrawn_at: string | null;
  };
  checkpoints: {
    id: string;
    model_slug: string;
    /** JSON object, see models/requirements.ts. */
    requirements: string;
    created_at: string;
    withdrawn_at: string | null;
  };
  /** The endpoints of a checkpoint, one row per region, with the results of probes. */
  endpoints: {
    checkpoint_id: string;
    region: string;
    url: string;
    health_url: string;
    health: EndpointHealth;
    /** Number of consecutive probes that contradict `health`, see endpoints/health.ts. */
    contrary_probes: number;
    /** When `health` last changed. */
    health_since: string | null;
    last_probed_at: string | null;
    /** Why the last probe failed, in a few words; null if it succeeded. */
    last_error: string | null;
    /** When the next probe is due. */
    next_probe_at: string;
    /** The claim of the probe in progress, and when the claim expires. */
    probe_id: string | null;
    probe_expires_at: string | null;
    withdrawn_at: string | null;
  };
  /** How long endpoints took to become healthy once they were needed; the newest of each model are kept. */
  preparations: {
    id: string;
    model_slug: string;
    checkpoint_id: string;
    region: string;
    seconds: number;
    observed_at: string;
  };
  fleets: {
    id: string;
    organization_id: string;
    name: string;
    readiness_mode: ReadinessMode;
    peak_active_robots: number;
    /** JSON array of milliseconds since the epoch: start and end of each window, in order of time. */
    operating_windows: string;
    /** JSON object with kind and selector: how its members were selected. */
    selection: string;
    /** The generation in use. */
    generation_id: string;
    /** The generation that is being prepared to replace it. */
    update_generation_id: string | null;
    /** Since when robots join and leave it as they come to match its selector; null for fixed members. */
    follows_since: string | null;
    /** A robot that matches and did not join, because the fleet was full; null if there is none. */
    left_out_robot_id: string | null;
    created_at: string;
    /** When an operator removed it. Its name is free from then on; its row stays for the history. */
    removed_at: string | null;
  };
  /** The windows of `fleets`, one per row, so that an index finds them by time. */
  fleet_windows: {
    organization_id: string;
    fleet_id: string;
    /** Milliseconds since the epoch. */
    starts_ms: number;
    ends_ms: number;
  };
  fleet_members: {
    fleet_id: string;
    robot_id: string;
  };
  /** Robots to compare with the selectors of fleets that follow them, and fleets to compare with all robots. */
  fleet_checks: {
    /** Of the audit entry of the change that caused it, or one of its own. */
    id: string;
    organization_id: string;
    /** Id of a robot or fleet. */
    subject_id: string;
    /** Who made that change, in which request. */
    actor: string;
    request_id: string | null;
  };
  /** A fleet's model over time: each creation and update starts one. */
  generations: {
    id: string;
    fleet_id: string;
    /** As the client sent it: a slug or a checkpoint id. */
    subject: string;
    checkpoint_id: string;
    created_at: string;
    /** When all endpoints it needs were healthy for the first time. */
    activated_at: string | null;
    /** When a newer generation replaced it, before or after it was active. */
    superseded_at: string | null;
  };
  deployments: {
    id: string;
    organization_id: string;
    robot_id: string;
    model_slug: string;
    checkpoint_id: string;
    region: string;
    status: DeploymentStatus;
    /** Created with the deployment; shown once that is active. */
    generation_id: string;
    last_error_code: string | null;
    created_at: string;
    /** When it first became active. */
    activated_at: string | null;
    retired_at: string | null;
    /** Start of the running usage period; null if none is running. */
    usage_from: string | null;
    /** Id of the running period in the ledger, so that it cannot be entered twice. */
    usage_id: string | null;
    /** End of the last period in the ledger. The robot's next one starts at or after it, unless a wrong clock put it far ahead. */
    usage_until: string | null;
  };
  /** The ledger. Rows are never changed. */
  usage_records: {
    id: string;
    organization_id: string;
    deployment_id: string;
    robot_name: string;
    model_slug: string;
    usage_type: string;
    sku: string;
    quantity: number;
    unit: string;
    period_start: string;
    period_end: string;
    created_at: string;
  };
  /** Logins in progress: a program waits for the decision of a person. */
  login_exchanges: {
    id: string;
    /** Lowercase hex SHA-256, as of every secret here. */
    verifier_sha256: string;
    callback_url: string;
    /** Who started it. */
    client_address: string;
    /** The address, or the /48 of an IPv6 address. */
    client_site: string;
    /** Its User-Agent; null without one. */
    client_program: string | null;
    /** How the program gets the token, chosen by the person who approved; null until then. */
    delivery: "redirect" | "poll" | null;
    state: "pending" | "approved" | "denied" | "used";
    code_sha256: string | null;
    /** Whose key approved; the session will belong to it. */
    organization_id: string | null;
    approved_by: string | null;
    last_polled_at: string | null;
    created_at: string;
    expires_at: string;
  };
  sessions: {
    id: string;
    organization_id: string;
    /** `cli`: the token is sent in a header; `console`: in a cookie. */
    kind: "cli" | "console";
    token_sha256: string;
    /** The key that it depends on. */
    created_by: string;
    /** The scopes of that key. */
    scopes: string | null;
    created_at: string;
    last_used_at: string | null;
    expires_at: string;
    revoked_at: string | null;
  };
  /** Refused registrations. Equal ones share a row with the times of the first and the last. */
  refusals: {
    id: string;
    organization_id: string;
    /** The name in the request; empty if the request was refused before its body was read. */
    robot: string;
    /** Of the answer, like `detail`. */
    status: number;
    actor: string;
    /** Of the client. */
    address: string;
    /** Never a secret. */
    detail: string;
    request_id: string | null;
    first_at: string;
    last_at: string;
    count: number;
  };
  /** Who reached limits of the service: of each limit, the most recent parties. */
  limits_met: {
    /** Its name in the configuration. */
    limit_name: string;
    /** `key_…`, `ses_…`, `org_…`, or an address. */
    party: string;
    organization_id: string | null;
    first_at: string;
    last_at: string;
    count: number;
  };
  /** Where events of an organization are sent. */
  webhooks: {
    id: string;
    organization_id: string;
    url: string;
    /** JSON array of types; null for all events. */
    events: string | null;
    /** `whsec_…`, in clear, because each delivery is signed with it. Empty once the webhook is deleted. */
    secret: string;
    created_at: string;
    /** First failure since the last delivery that succeeded. */
    failing_since: string | null;
    /** Since when new events are dropped, because too many are pending. */
    full_since: string | null;
    dropped_events: number;
    disabled_at: string | null;
    disabled_reason: "gone" | "failing" | "requested" | null;
    /** Its row is deleted after its deliveries. */
    removed_at: string | null;
  };
  /** Events to deliver, written in the transaction of what they tell, and kept for a month. */
  webhook_deliveries: {
    id: string;
    organization_id: string;
    webhook_id: string;
    event_id: string;
    event_type: string;
    /** JSON text, as sent and signed. */
    body: string;
    status: "pending" | "delivered" | "failed";
    attempts: number;
    created_at: string;
    /** When it is due. While an attempt runs: when another replica may take it for abandoned. */
    next_attempt_at: string;
    /** The attempt in progress. */
    claim_id: string | null;
    last_attempt_at: string | null;
    last_status: number | null;
    last_error: string | null;
  };
  /** The state of robots and fleets that webhooks were told last. */
  reported_states: {
    subject_id: string;
    organization_id: string;
    kind: "robot" | "fleet";
    /** Of a robot `online` or `offline`, of a fleet its status. */
    state: string;
    reported_at: string;
  };
  /** Every change, written in the transaction that makes it. Old entries are deleted after the configured time. */
  audit_log: {
    id: string;
    /** Null for changes of the service, such as of its catalog. */
    organization_id: string | null;
    at: string;
    /** `key_…`, `ses_…`, or `command` for the commands of robot-policy-service. */
    actor: string;
    request_id: string | null;
    action: string;
    /** Id of the changed object. */
    subject_id: string;
    /** JSON object; never a secret. */
    details: string;
    /**
     * Of a registration: the entry of the robot's previous registration. Histories follow these links, because with an index by subject
     * each registration would write one more page to the disk.
     */
    previous_id: string | null;
  };
}

/** `unknown` until enough probes agree, see endpoints/health.ts. */
export type EndpointHealth = "unknown" | "healthy" | "failing";
