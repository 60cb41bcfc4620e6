import type { DEPLOYMENT_STATUSES } from "../../../api/deployments.ts";
import type { READINESS_MODES } from "../../../api/fleets.ts";

type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];
type ReadinessMode = (typeof READINESS_MODES)[number];

/** The columns of the store, as both databases hold them. Times are ISO 8601 in UTC with milliseconds, so that text sorts as time. */
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
    /** Lowercase hex SHA-256 of the whole key; the key itself is nowhere. */
    key_sha256: string;
    key_prefix: string;
    key_last4: string;
    /** JSON array of scopes, or null for a key that may do everything. */
    scopes: string | null;
    created_at: string;
    last_used_at: string | null;
    expires_at: string | null;
    revoked_at: string | null;
    /** Id of the key it was made with, by itself or through a session, or `command`. */
    created_by: string;
    /** The key that it ends with; null for one that goes on alone. */
    parent_id: string | null;
    /** JSON array of the names of the only robots it may set up; null for any. */
    robots: string | null;
    /** How many robots it may add; null where only the limits of the service bound that. */
    max_robots: number | null;
  };
  robots: {
    id: string;
    organization_id: string;
    name: string;
    robot_type_id: string;
    region: string;
    configuration_digest: string;
    site: string | null;
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
    /** JSON array of changes, newest first, as robots/contest.ts judges them. */
    recent_changes: string;
    /** Since when, and when last, two computers registered its name in turn; null where that was never seen. */
    contested_since: string | null;
    contested_at: string | null;
    /** The key it was first registered with, by itself or through a session. */
    made_by: string;
  };

  /** Each label of each robot, so that those with a label are found by an index. */
  robot_labels: {
    organization_id: string;
    /** SHA-256 of name and value, `labelHash`: of one length, because PostgreSQL bounds what an index holds. */
    label_sha256: string;
    robot_id: string;
  };

  /** One row: when the catalog was last applied. Two who apply one at once wait for each other at it. */
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
    /** When it left the catalog; those that use it keep it. */
    withdrawn_at: string | null;
  };
  checkpoints: {
    id: string;
    model_slug: string;
    /** JSON object, see models/requirements. */
    requirements: string;
    created_at: string;
    withdrawn_at: string | null;
  };
  /** Where a checkpoint answers, one row for each region, with what probes observed. */
  endpoints: {
    checkpoint_id: string;
    region: string;
    url: string;
    health_url: string;
    health: EndpointHealth;
    /** Probes in a row that disagree with `health`; it changes when they are enough. */
    contrary_probes: number;
    /** When `health` last changed. */
    health_since: string | null;
    last_probed_at: string | null;
    /** Why the last probe failed, in a few words; null when it did not. */
    last_error: string | null;
    /** When it is due. */
    next_probe_at: string;
    /** Who probes it now, and until when the others leave it alone. */
    probe_id: string | null;
    probe_expires_at: string | null;
    withdrawn_at: string | null;
  };
  /** How long endpoints took from being needed to being healthy; the newest of each model are kept. */
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
    /** JSON array of milliseconds since the epoch: start and end of each window, in their order. */
    operating_windows: string;
    /** JSON object of kind and selector: how its members were chosen. */
    selection: string;
    /** Generation the fleet works with. */
    generation_id: string;
    /** Generation that is to replace it. */
    update_generation_id: string | null;
    created_at: string;
  };
  /** The same windows again, where one is found by its time. */
  fleet_windows: {
    organization_id: string;
    fleet_id: string;
    /** Milliseconds since the epoch. */
    starts_ms: number;
    ends_ms: number;
  };
  /** The snapshot taken at creation. */
  fleet_members: {
    fleet_id: string;
    robot_id: string;
  };
  /** A fleet's model over time: each creation and update starts one. */
  generations: {
    id: string;
    fleet_id: string;
    /** As the client wrote it: a slug or a checkpoint id. */
    subject: string;
    checkpoint_id: string;
    created_at: string;
    /** When all endpoints it needs were healthy for the first time. */
    activated_at: string | null;
    /** When a newer one took its place, before or after it was active. */
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
    /** Made with the deployment; shown once it is active. */
    generation_id: string;
    last_error_code: string | null;
    created_at: string;
    /** When it first became active. */
    activated_at: string | null;
    retired_at: string | null;
    /** Start of the usage period that runs; null while none does. */
    usage_from: string | null;
    /** Id that the running period will have in the ledger, so that it cannot be entered twice. */
    usage_id: string | null;
    /** End of the last period in the ledger: none of the robot's begins before it, unless a clock that was far ahead wrote it. */
    usage_until: string | null;
  };
  /** The ledger: rows are added, never changed. */
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
  /** Logins under way: a program that waits, a person who decides. */
  login_exchanges: {
    id: string;
    /** Lowercase hex SHA-256, as of every secret here. */
    verifier_sha256: string;
    callback_url: string;
    /** Who started it. */
    client_address: string;
    /** The address, or the /48 of an IPv6 address. */
    client_site: string;
    /** As its User-Agent says; null without one. */
    client_program: string | null;
    /** How the token gets to the program, as the person who approved it said; null until then. */
    delivery: "redirect" | "poll" | null;
    state: "pending" | "approved" | "denied" | "used";
    code_sha256: string | null;
    /** Who approved, and so where the session will belong. */
    organization_id: string | null;
    approved_by: string | null;
    last_polled_at: string | null;
    created_at: string;
    expires_at: string;
  };
  sessions: {
    id: string;
    organization_id: string;
    /** A command line's, which sends its token along, or a console's, whose browser keeps it in a cookie. */
    kind: "cli" | "console";
    token_sha256: string;
    /** The key it goes back to. */
    created_by: string;
    /** What that key may do, as there. */
    scopes: string | null;
    created_at: string;
    last_used_at: string | null;
    expires_at: string;
    revoked_at: string | null;
  };
  /** Registrations that were refused: a row for those that are alike, whose newest it tells. */
  refusals: {
    id: string;
    organization_id: string;
    /** Name that was sent; empty where the request did not come so far. */
    robot: string;
    /** Of the answer, as `detail` is. */
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
  /** Who met limits of the service: of each limit those that did so last. */
  limits_met: {
    /** As the configuration calls it. */
    limit_name: string;
    /** `key_…`, `ses_…`, `org_…`, or an address. */
    party: string;
    organization_id: string | null;
    first_at: string;
    last_at: string;
    count: number;
  };
  /** Every change anyone made, in the transaction that made it; the oldest go after a while. */
  audit_log: {
    id: string;
    /** Null for what belongs to the service, such as its catalog. */
    organization_id: string | null;
    at: string;
    /** `key_…`, `ses_…`, or `command` for the program's own command line. */
    actor: string;
    request_id: string | null;
    action: string;
    /** Id of what was changed. */
    subject_id: string;
    /** JSON object; never a secret. */
    details: string;
    /**
     * Of a registration: the entry of the robot's registration before. A history is read along these, because an index by
     * subject costs each registration a page of its own on the disk.
     */
    previous_id: string | null;
  };
}

/** `unknown` until a probe has said something. */
export type EndpointHealth = "unknown" | "healthy" | "failing";
