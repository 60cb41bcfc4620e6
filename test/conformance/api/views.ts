/** The exact schema of each answer: every member is required, and no others are allowed. Clients need less. */
import * as z from "zod";

import type { OperationName } from "../../../src/api/api.ts";
import { DEPLOYMENT_STATUSES } from "../../../src/api/deployments.ts";
import { ENDPOINT_STATUSES } from "../../../src/api/endpoints.ts";
import { FLEET_MEMBER_STATES, SELECTION_KINDS } from "../../../src/api/fleet-details.ts";
import { FLEET_STATUSES, READINESS_MODES } from "../../../src/api/fleets.ts";
import { REGISTRATION_MEMBERS } from "../../../src/api/registrations.ts";
import { ERROR_CODES, REFUSAL_REASONS } from "../../../src/api/wire/errors.ts";
import { API_KEY_SCOPES } from "../../../src/api/wire/scopes.ts";

/** ISO 8601 in UTC with milliseconds: the text sorts by time. */
const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
/** Periods of usage begin and end at whole seconds, so that nothing is rounded. */
const wholeSecond = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
const count = z.int().min(0);

/** A prefix for the kind of resource, then a UUIDv7 as in TypeID. */
export function id(prefix: string) {
  return z.string().regex(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`));
}

/** The members of the service document, and those that the service learns from the robot's computer. */
export const robotView = z.strictObject({
  id: id("rob"),
  name: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  created_at: time,
  site: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  status: z.enum(["online", "offline"]),
  installation_id: id("rinst").nullable(),
  last_seen_at: time.nullable(),
  location: z.null(),
  site_inference: z.record(z.string(), z.unknown()).nullable(),
  presence: z.enum(["online", "not_ready", "offline", "not_monitored"]),
  not_ready_reason: z.string().nullable(),
});
export type RobotView = z.output<typeof robotView>;

const readinessEstimate = z
  .strictObject({ lower_seconds: count, upper_seconds: count, updated_at: time })
  .refine(({ lower_seconds: lowerSeconds, upper_seconds: upperSeconds }) => lowerSeconds <= upperSeconds);

const robotCounts = z
  .strictObject({ registered: count, ready: count, active: count, waiting: count, blocked: count })
  .refine(
    ({ registered, ready, active, waiting, blocked }) => registered === ready + active + waiting + blocked,
    "registered is the sum of the other counts",
  );

export const fleetView = z
  .strictObject({
    id: id("fleet"),
    name: z.string(),
    subject: z.string(),
    readiness_mode: z.enum(READINESS_MODES),
    peak_active_robots: z.int().min(1),
    status: z.enum(FLEET_STATUSES),
    blocker: z.string().min(1).nullable(),
    readiness_estimate: readinessEstimate.nullable(),
    robots: robotCounts,
    active_model: z
      .strictObject({
        subject: z.string(),
        generation_id: id("gen"),
        status: z.enum(["preparing", "active", "blocked"]),
      })
      .nullable(),
    update: z
      .strictObject({
        subject: z.string(),
        generation_id: id("gen"),
        status: z.enum(["pending", "preparing", "blocked"]),
        blocker: z.string().min(1).nullable(),
      })
      .nullable(),
  })
  .refine(
    ({ status, blocker }) => (status === "blocked") === (blocker !== null),
    "blocker is set if and only if the fleet is blocked",
  )
  .refine(
    ({ status, readiness_estimate }) => readiness_estimate === null || status === "preparing" || status === "degraded",
    "a ready or blocked fleet has no estimate",
  );
export type FleetView = z.output<typeof fleetView>;

export const deploymentView = z.strictObject({
  id: id("dep"),
  status: z.enum(DEPLOYMENT_STATUSES),
  model: z.string(),
  subject_id: z.string().startsWith("ckpt_"),
  robot: z.string(),
  robot_id: id("rob"),
  region: z.string(),
  endpoint_url: z.url().nullable(),
  active_generation_id: id("gen").nullable(),
  last_error_code: z.string().min(1).nullable(),
  created_at: time,
  activated_at: time.nullable(),
  retired_at: time.nullable(),
});
export type DeploymentView = z.output<typeof deploymentView>;

const scopes = z.array(z.enum(API_KEY_SCOPES)).min(1).nullable();
export const apiKeyView = z.strictObject({
  id: id("key"),
  label: z.string(),
  key_prefix: z.literal("sk_rps_"),
  key_last4: z.string().regex(/^[0-9A-Za-z]{4}$/),
  scopes,
  created_at: time,
  last_used_at: time.nullable(),
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
  created_by: z.union([id("key"), z.literal("command")]),
  parent_id: id("key").nullable(),
  enrollment: z
    .strictObject({
      uses: z.int().min(1),
      site: z.string().nullable(),
      region: z.string().nullable(),
      labels: z.record(z.string(), z.string()),
    })
    .nullable(),
  uses_remaining: count.nullable(),
  last_robot_id: id("rob").nullable(),
});

/** The only answer that contains the key itself. */
export const apiKeyCreated = apiKeyView.extend({ api_key: z.string().regex(/^sk_rps_[0-9A-Za-z]{28}$/) });

export const modelView = z.strictObject({
  slug: z.string(),
  display_name: z.string(),
  vendor: z.string().nullable(),
  model_type: z.string().nullable(),
  license_tier: z.string().nullable(),
  default_checkpoint_id: z.string().startsWith("ckpt_"),
  checkpoints: z
    .array(
      z.strictObject({
        id: z.string().startsWith("ckpt_"),
        created_at: time,
        requirements: z.record(z.string(), z.unknown()),
        regions: z.array(z.string()),
      }),
    )
    .min(1),
  created_at: time,
});

export const usageRecord = z.strictObject({
  id: id("use"),
  created_at: wholeSecond,
  usage_type: z.string(),
  sku: z.string(),
  quantity: z.int().min(1),
  unit: z.string(),
  amount_cents: z.null(),
  deployment_id: id("dep"),
  robot: z.string(),
  model_slug: z.string(),
  period_start: wholeSecond,
  /** Null while the period runs. */
  period_end: wholeSecond.nullable(),
});

const sentence = z.string().min(1).max(2000).nullable();
const endpointState = {
  region: z.string(),
  status: z.enum(ENDPOINT_STATUSES),
  since: time.nullable(),
  checked_at: time.nullable(),
  detail: sentence,
};

const needs = z.array(z.strictObject({ reason: z.string().min(1).max(2000), action: z.string().min(1) }));
const waiting = z.strictObject({ endpoint: count, window: count, peak: count, robot: count });

const fleetDetails = z.strictObject({
  created_at: time,
  updated_at: time.nullable(),
  operating_windows: z.array(z.strictObject({ starts_at: time, ends_at: time })),
  selection: z.strictObject({
    kind: z.enum(SELECTION_KINDS),
    selector: z
      .strictObject({
        site: z.string().nullable(),
        region: z.string().nullable(),
        robot_type_id: z.string().nullable(),
        labels: z.record(z.string(), z.string()),
      })
      .nullable(),
  }),
  generations: z
    .array(
      z.strictObject({
        generation_id: id("gen"),
        subject: z.string(),
        status: z.enum(["pending", "preparing", "active", "blocked", "superseded"]),
        created_at: time,
        activated_at: time.nullable(),
        blocker: sentence,
      }),
    )
    .min(1),
  members: z.array(
    z
      .strictObject({
        robot_id: id("rob"),
        robot: z.string(),
        robot_type_id: z.string(),
        region: z.string(),
        site: z.string().nullable(),
        state: z.enum(FLEET_MEMBER_STATES),
        waiting_for: z.enum(["endpoint", "window", "peak", "robot"]).nullable(),
        reason: sentence,
        status: z.enum(["online", "offline"]).optional(),
      })
      .refine(({ state, waiting_for: waitingFor }) => (waitingFor !== null) === (state === "waiting"))
      .refine(({ state, reason }) => (reason !== null) === (state === "waiting" || state === "blocked")),
  ),
  endpoints: z.array(z.strictObject({ generation_id: id("gen"), ...endpointState })),
  needs,
  waiting,
});

const fleetRobot = z.strictObject({
  robot_id: id("rob"),
  robot: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  site: z.string().nullable(),
});

const fleetPreviewed = z.strictObject({
  total: count,
  robots: z.array(
    z
      .strictObject({ ...fleetRobot.shape, fits: z.boolean().nullable(), reason: sentence })
      .refine(({ fits, reason }) => (fits === null ? reason === null : fits || reason !== null)),
  ),
});

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const registration = z.strictObject({
  robot_id: id("rob"),
  robot: z.string(),
  configuration_digest: digest,
  changed_at: time,
  registered_at: time,
  contested_since: time.nullable(),
});
const actor = z.strictObject({ id: z.string(), label: z.string().nullable() });
const registrationRecord = z.strictObject({
  at: time,
  configuration_digest: digest,
  changed: z.array(z.enum(REGISTRATION_MEMBERS)).nullable(),
  robot_type_id: z.string(),
  region: z.string(),
  site: z.string().nullable(),
  actor,
  address: z.string(),
  contested: z.boolean(),
});

const webhook = {
  id: id("wh"),
  url: z.url(),
  events: z.array(z.string()).min(1).nullable(),
  created_at: time,
  previous_secret_until: time.nullable(),
  last_error: z.string().nullable(),
  last_error_at: time.nullable(),
};
const webhookSecret = z.strictObject({ ...webhook, secret: z.string().regex(/^whsec_[A-Za-z0-9+/]{43}=$/) });

const credentialTerms = {
  installation_id: id("rinst"),
  credential_expires_at: time,
  renew_after_s: count,
  principal: z.string().startsWith("robot:rob_"),
  generation: z.int().min(1),
};

const installationView = z.strictObject({
  installation_id: id("rinst"),
  robot_id: id("rob"),
  state: z.enum(["active", "frozen", "revoked"]),
  generation: z.int().min(1),
  enrolled_at: time,
  approved_by: z.string(),
  key_fingerprint: z.string().regex(/^SHA256:[A-Za-z0-9+/]{43}$/),
  credential_expires_at: time,
  recoveries_remaining: count,
  recovery_until: time,
  readiness: z.enum(["ready", "not_ready"]).nullable(),
  reason: z.string().nullable(),
  runtime_version: z.string().nullable(),
  manifest_digest: z.string().nullable(),
  last_seen_at: time.nullable(),
  last_address: z.string().nullable(),
});

const userCode = z.string().regex(/^[A-HJKMNP-Z2-9]{4}-[A-HJKMNP-Z2-9]{4}$/);

const enrolmentView = z.strictObject({
  approval_id: id("renr"),
  user_code: userCode,
  requested_name: z.string(),
  region: z.string().nullable(),
  site: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  robot_type_id: z.string().nullable(),
  configuration_digest: z.string().startsWith("sha256:"),
  address: z.string(),
  key_fingerprint: z.string().regex(/^SHA256:[A-Za-z0-9+/]{43}$/),
  created_at: time,
  expires_at: time,
  robot: robotView.nullable(),
});

/** The exact answer of every operation. */
export const answers = {
  setupRobot: z.strictObject({ robot: robotView }),
  listRobots: z.array(robotView),
  createFleet: fleetView,
  listFleets: z.array(fleetView),
  updateFleetModel: fleetView,
  createDeployment: deploymentView,
  createApiKey: apiKeyCreated,
  listApiKeys: z.strictObject({ items: z.array(apiKeyView) }),
  revokeApiKey: apiKeyView,
  getModel: modelView,
  listUsage: z.strictObject({ items: z.array(usageRecord) }),
  summarizeUsage: z.strictObject({
    since: time,
    until: time,
    by: z.string(),
    unit: z.literal("second"),
    total: count,
    items: z.array(
      z.strictObject({
        day: z.iso.date().nullable(),
        robot: z.string().nullable(),
        model_slug: z.string().nullable(),
        quantity: count,
      }),
    ),
  }),
  getRobot: robotView,
  getRegistration: registration.extend({
    robot_type_id: z.string(),
    region: z.string(),
    site: z.string().nullable(),
    labels: z.record(z.string(), z.string()),
    contested_from: z.array(z.strictObject({ address: z.string(), actor })),
    last_refusal: z
      .strictObject({
        at: time,
        status: z.int().min(400).max(499),
        detail: z.string(),
        actor,
        address: z.string(),
        request_id: z.string(),
      })
      .nullable(),
    contract: z.record(z.string(), z.unknown()).nullable(),
  }),
  getRobotHistory: z.strictObject({ items: z.array(registrationRecord) }),
  removeRobot: z.strictObject({ robot_id: id("rob"), removed_at: time }),
  renameRobot: robotView,
  listAudit: z.strictObject({
    items: z.array(
      z.strictObject({
        id: id("aud"),
        at: time,
        action: z.string(),
        subject_id: z.string(),
        subject_name: z.string().nullable(),
        subject_model: z.string().nullable(),
        actor,
        request_id: z.string().nullable(),
        details: z.record(z.string(), z.unknown()),
      }),
    ),
  }),
  startEnrolment: z.strictObject({
    approval_id: id("renr"),
    user_code: userCode,
    poll_token: z.string().regex(/^[!-{}~]{24,}$/),
    expires_at: time,
    interval_s: z.literal(5),
    approval_required: z.boolean(),
    reason: z.literal("name_exists").optional(),
  }),
  pollEnrolment: z.discriminatedUnion("status", [
    z.strictObject({
      status: z.literal("pending"),
      retry_after_s: z.literal(5),
      reason: z.literal("name_exists").optional(),
    }),
    z.strictObject({
      ...credentialTerms,
      status: z.literal("approved"),
      robot: robotView,
      installation_token: z.string().startsWith("rps_robot_"),
    }),
    z.strictObject({ status: z.enum(["denied", "expired", "consumed"]) }),
  ]),
  approveEnrolment: z.strictObject({
    approval_id: id("renr"),
    user_code: userCode,
    status: z.literal("approved"),
    requested_name: z.string(),
    region: z.string(),
    robot_type_id: z.string(),
    site: z.string().nullish(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
  denyEnrolment: z.strictObject({
    approval_id: id("renr"),
    user_code: userCode,
    status: z.literal("denied"),
    requested_name: z.string(),
  }),
  listEnrolments: z.strictObject({ items: z.array(enrolmentView) }),
  getEnrolment: enrolmentView,
  heartbeat: z.strictObject({ robot_id: id("rob"), accepted_at: time, ...credentialTerms }),
  renewCredential: z.strictObject({
    ...credentialTerms,
    installation_token: z.string().startsWith("rps_robot_"),
    recovered: z.boolean(),
    recoveries_remaining: count,
  }),
  claimRun: z.strictObject({ run: z.null(), retry_after_s: z.literal(10) }),
  getInstallation: installationView,
  changeInstallation: installationView,
  listRegistrations: z.strictObject({ items: z.array(registration) }),
  getFleet: fleetView,
  previewReconcile: z.strictObject({
    joining: z.array(fleetRobot),
    leaving: z.array(fleetRobot),
    registered: count,
    peak_active_robots: count,
  }),
  reconcileFleet: fleetView,
  removeFleet: z.strictObject({ fleet_id: id("fleet"), removed_at: time }),
  getFleetDetails: fleetDetails,
  listFleetNeeds: z.strictObject({ items: z.array(z.strictObject({ fleet_id: id("fleet"), needs, waiting })) }),
  previewFleet: fleetPreviewed,
  listModels: z.strictObject({ models: z.array(modelView) }),
  listEndpoints: z.strictObject({
    items: z.array(
      z.strictObject({ model_slug: z.string(), checkpoint_id: z.string().startsWith("ckpt_"), ...endpointState }),
    ),
  }),
  listRegions: z.strictObject({ regions: z.array(z.string()) }),
  listDeployments: z.strictObject({ items: z.array(deploymentView) }),
  getDeployment: deploymentView,
  pollDeployment: deploymentView,
  retireDeployment: deploymentView,
  rotateApiKey: apiKeyView.extend({ api_key: z.string(), former_key_id: id("key"), former_expires_at: time }),
  createWebhook: webhookSecret,
  listWebhooks: z.strictObject({ items: z.array(z.strictObject(webhook)) }),
  testWebhook: z.strictObject({ delivered: z.boolean(), error: z.string().nullable() }),
  rotateWebhook: webhookSecret,
  deleteWebhook: z.strictObject({ id: id("wh"), deleted_at: time }),
  startLogin: z.strictObject({
    exchange_id: id("login"),
    login_url: z.string().startsWith("/login?exchange="),
    user_code: z.string().regex(/^[A-Z]{4}-[A-Z]{4}$/),
  }),
  pollLogin: z.discriminatedUnion("status", [
    z.strictObject({ status: z.literal("pending"), interval: z.int().min(1) }),
    z.strictObject({ status: z.literal("slow_down"), interval: z.int().min(1) }),
    z.strictObject({ status: z.literal("complete"), token: z.string() }),
  ]),
  exchangeLogin: z.strictObject({ token: z.string() }),
  decideLogin: z.strictObject({ status: z.enum(["approved", "denied"]), redirect_url: z.url() }),
  endSession: z.looseObject({ id: id("ses"), revoked_at: time }),
  getSession: z.looseObject({
    authenticated: z.literal(true),
    active_organization: z.strictObject({ id: id("org"), name: z.string(), role: z.string() }),
  }),
  getAccount: z.strictObject({
    organization: z.strictObject({ id: id("org"), name: z.string() }),
    deployments: z.array(deploymentView).max(100),
    api_keys: z.array(apiKeyView).max(100),
    deployment_count: count,
    api_key_count: count,
  }),
} as const satisfies Record<OperationName, z.ZodType>;

/** Body of a 422 answer. */
export const findings = z.strictObject({
  detail: z
    .array(
      z.strictObject({
        type: z.string().min(1),
        loc: z.array(z.union([z.string(), z.int()])).min(1),
        msg: z.string().min(1),
        input: z.unknown().optional(),
        ctx: z.record(z.string(), z.unknown()).optional(),
      }),
    )
    .min(1),
});

/** Body of every other refusal: the same sentence twice, and a code for programs. */
export const refusal = z
  .strictObject({
    detail: z.string().min(1),
    message: z.string().min(1),
    code: z.enum(ERROR_CODES),
    reason: z.enum(REFUSAL_REASONS).optional(),
  })
  .refine(({ detail, message }) => detail === message);
