import { sql } from "kysely";
import type { ColumnDefinitionBuilder, Kysely } from "kysely";

/** Usage periods longer than a day are rare, and have an index of their own. */
export const USUAL_PERIOD_S = 86_400;

type AnyDatabase = Pick<Kysely<unknown>, "schema" | "getExecutor">;

/** The steps of the schema, applied in the order of their names. */
export type Migrations = Readonly<Record<string, (database: AnyDatabase) => Promise<void>>>;

/** Each step is applied once. A released step never changes, and does not use `Tables`, the types of the latest schema. */
export const MIGRATIONS: Migrations = { "0001-initial": createTables };

async function createTables(database: AnyDatabase): Promise<void> {
  await createOrganizations(database);
  await createRobots(database);
  await createIdentities(database);
  await createModels(database);
  await createFleets(database);
  await createDeployments(database);
  await createLogins(database);
  await createLogs(database);
  await createWebhooks(database);
}

const id = (column: ColumnDefinitionBuilder) => column.primaryKey().notNull();
const required = (column: ColumnDefinitionBuilder) => column.notNull();
const requiredFrom = (reference: string) => (column: ColumnDefinitionBuilder) => column.notNull().references(reference);

async function createOrganizations({ schema }: AnyDatabase): Promise<void> {
  await schema
    .createTable("organizations")
    .addColumn("id", "text", id)
    .addColumn("name", "text", required)
    .addColumn("created_at", "text", required)
    .execute();
  await schema.createIndex("organizations_by_name").on("organizations").columns(["name"]).unique().execute();
  await schema
    .createTable("api_keys")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("label", "text", required)
    .addColumn("key_sha256", "text", (column) => column.notNull().unique())
    .addColumn("key_prefix", "text", required)
    .addColumn("key_last4", "text", required)
    .addColumn("scopes", "text")
    .addColumn("created_at", "text", required)
    .addColumn("last_used_at", "text")
    .addColumn("expires_at", "text")
    .addColumn("revoked_at", "text")
    .addColumn("created_by", "text", required)
    .addColumn("parent_id", "text")
    .addColumn("robots", "text")
    .addColumn("max_robots", "integer")
    .addColumn("enrolment", "text")
    .execute();
  await schema.createIndex("api_keys_by_organization").on("api_keys").columns(["organization_id", "id"]).execute();
  await schema
    .createIndex("api_keys_by_parent")
    .on("api_keys")
    .columns(["parent_id"])
    .where(sql.ref("parent_id"), "is not", null)
    .execute();
  await schema
    .createTable("key_uses")
    .addColumn("key_id", "text", requiredFrom("api_keys.id"))
    .addColumn("slot", "integer", required)
    .addColumn("remaining", "integer", required)
    .addPrimaryKeyConstraint("key_uses_key", ["key_id", "slot"])
    .execute();
}

async function createRobots({ schema }: AnyDatabase): Promise<void> {
  await schema
    .createTable("robots")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("name", "text", required)
    .addColumn("robot_type_id", "text", required)
    .addColumn("region", "text", required)
    .addColumn("configuration_digest", "text", required)
    .addColumn("site", "text")
    .addColumn("labels", "text", required)
    .addColumn("contract", "text")
    .addColumn("equipment", "text")
    .addColumn("equipment_sha256", "text")
    .addColumn("created_at", "text", required)
    .addColumn("updated_at", "text", required)
    .addColumn("refitted_at", "text", required)
    .addColumn("changed_at", "text", required)
    .addColumn("audit_id", "text", required)
    .addColumn("previous_audit_id", "text")
    .addColumn("recent_changes", "text", required)
    .addColumn("contested_since", "text")
    .addColumn("contested_at", "text")
    .addColumn("made_by", "text", required)
    .addColumn("site_inference", "text")
    .addColumn("installation_id", "text")
    .addColumn("removed_at", "text")
    .execute();
  // The name of a removed robot is free.
  await schema
    .createIndex("robots_by_name")
    .on("robots")
    .columns(["organization_id", "name"])
    .unique()
    .where(sql.ref("removed_at"), "is", null)
    .execute();
  await schema.createIndex("robots_by_organization").on("robots").columns(["organization_id", "id"]).execute();
  await schema.createIndex("robots_by_maker").on("robots").columns(["made_by", "id"]).execute();
  await schema
    .createTable("robot_labels")
    .addColumn("organization_id", "text", required)
    .addColumn("label_sha256", "text", required)
    .addColumn("robot_id", "text", requiredFrom("robots.id"))
    .addPrimaryKeyConstraint("robot_labels_key", ["organization_id", "label_sha256", "robot_id"])
    .execute();
  await schema.createIndex("robot_labels_by_robot").on("robot_labels").columns(["robot_id"]).execute();
}

async function createIdentities({ schema }: AnyDatabase): Promise<void> {
  await schema
    .createTable("enrolments")
    .addColumn("id", "text", id)
    .addColumn("status", "text", required)
    .addColumn("public_key", "text", required)
    .addColumn("user_code", "text", required)
    .addColumn("poll_token_sha256", "text", required)
    .addColumn("requested_name", "text", required)
    .addColumn("region", "text")
    .addColumn("site_inference", "text")
    .addColumn("site", "text")
    .addColumn("labels", "text", required)
    .addColumn("configuration_digest", "text", required)
    .addColumn("robot_type_id", "text")
    .addColumn("contract", "text")
    .addColumn("wanted_organization_id", "text")
    .addColumn("client_address", "text", required)
    .addColumn("client_site", "text", required)
    .addColumn("created_at", "text", required)
    .addColumn("expires_at", "text", required)
    .addColumn("organization_id", "text", (column) => column.references("organizations.id"))
    .addColumn("decided_by", "text")
    .addColumn("made_by", "text")
    .addColumn("decided_at", "text")
    .addColumn("decided_name", "text")
    .addColumn("decided_region", "text")
    .addColumn("confirm_replace", "integer", required)
    .addColumn("key_id", "text")
    .addColumn("allowed_key_id", "text")
    .addColumn("installation_id", "text")
    .execute();
  const enrolmentIndex = (name: string) => schema.createIndex(name).on("enrolments");
  const waitingIndex = (name: string) =>
    enrolmentIndex(name)
      .unique()
      .where(sql.ref("status"), "in", [sql.lit("pending"), sql.lit("approved")])
      .where(sql.ref("installation_id"), "is", null);
  await waitingIndex("enrolments_waiting_code").columns(["user_code"]).execute();
  await waitingIndex("enrolments_waiting_key").columns(["public_key"]).execute();
  await enrolmentIndex("enrolments_by_code").columns(["user_code"]).execute();
  await enrolmentIndex("enrolments_by_end").columns(["expires_at"]).execute();
  await enrolmentIndex("enrolments_by_status").columns(["status", "expires_at"]).execute();
  await enrolmentIndex("enrolments_by_installation").columns(["installation_id"]).execute();
  await schema
    .createTable("allowed_keys")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("key_fingerprint", "text", required)
    .addColumn("created_at", "text", required)
    .addColumn("expires_at", "text", required)
    .addColumn("created_by", "text", required)
    .addColumn("made_by", "text", required)
    .addColumn("used_at", "text")
    .addColumn("robot_id", "text")
    .execute();
  await schema
    .createIndex("allowed_keys_by_fingerprint")
    .on("allowed_keys")
    .columns(["key_fingerprint", "organization_id"])
    .unique()
    .execute();
  await schema
    .createIndex("allowed_keys_by_organization")
    .on("allowed_keys")
    .columns(["organization_id", "id"])
    .execute();
  await schema
    .createTable("installations")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("robot_id", "text", requiredFrom("robots.id"))
    .addColumn("public_key", "text", required)
    .addColumn("state", "text", required)
    .addColumn("generation", "integer", required)
    .addColumn("enrolled_at", "text", required)
    .addColumn("approved_by", "text", required)
    .addColumn("revoked_at", "text")
    .addColumn("credential_expires_at", "text", required)
    .addColumn("recoveries_remaining", "integer", required)
    .addColumn("recovery_until", "text", required)
    .addColumn("readiness", "text")
    .addColumn("reason", "text")
    .addColumn("runtime_version", "text")
    .addColumn("manifest_digest", "text")
    .addColumn("last_seen_at", "text")
    .addColumn("last_address", "text")
    .execute();
  const liveIndex = (name: string) =>
    schema.createIndex(name).on("installations").unique().where(sql.ref("state"), "<>", sql.lit("revoked"));
  await liveIndex("installations_by_key").columns(["public_key"]).execute();
  await liveIndex("installations_live").columns(["robot_id"]).execute();
  // Not the time of the last heartbeat: then each would change the index.
  await schema
    .createIndex("installations_by_organization")
    .on("installations")
    .columns(["organization_id", "state"])
    .execute();
  await schema.createIndex("installations_by_robot").on("installations").columns(["robot_id", "id"]).execute();
  await schema
    .createTable("robot_credentials")
    .addColumn("token_sha256", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("installation_id", "text", requiredFrom("installations.id"))
    .addColumn("generation", "integer", required)
    .addColumn("standing", "text", required)
    .addColumn("issued_at", "text", required)
    .addColumn("expires_at", "text", required)
    .addColumn("renew_at", "text", required)
    .addColumn("grace_until", "text")
    .addColumn("used_at", "text")
    .addColumn("displaced_by", "integer")
    .execute();
  await schema
    .createIndex("robot_credentials_by_installation")
    .on("robot_credentials")
    .columns(["installation_id"])
    .execute();
  await schema
    .createTable("renewal_nonces")
    .addColumn("installation_id", "text", requiredFrom("installations.id"))
    .addColumn("nonce_sha256", "text", required)
    .addColumn("used_at", "text", required)
    .addPrimaryKeyConstraint("renewal_nonces_key", ["installation_id", "nonce_sha256"])
    .execute();
}

async function createModels({ schema }: AnyDatabase): Promise<void> {
  await schema.createTable("catalogs").addColumn("id", "text", id).addColumn("applied_at", "text").execute();
  await schema
    .createTable("models")
    .addColumn("slug", "text", id)
    .addColumn("display_name", "text", required)
    .addColumn("vendor", "text")
    .addColumn("model_type", "text")
    .addColumn("license_tier", "text")
    .addColumn("default_checkpoint_id", "text", required)
    .addColumn("created_at", "text", required)
    .addColumn("withdrawn_at", "text")
    .execute();
  await schema
    .createTable("checkpoints")
    .addColumn("id", "text", id)
    .addColumn("model_slug", "text", requiredFrom("models.slug"))
    .addColumn("requirements", "text", required)
    .addColumn("created_at", "text", required)
    .addColumn("withdrawn_at", "text")
    .execute();
  await schema.createIndex("checkpoints_by_model").on("checkpoints").columns(["model_slug", "id"]).execute();
  await schema
    .createTable("endpoints")
    .addColumn("checkpoint_id", "text", requiredFrom("checkpoints.id"))
    .addColumn("region", "text", required)
    .addColumn("url", "text", required)
    .addColumn("health_url", "text", required)
    .addColumn("health", "text", required)
    .addColumn("contrary_probes", "integer", required)
    .addColumn("health_since", "text")
    .addColumn("last_probed_at", "text")
    .addColumn("last_error", "text")
    .addColumn("next_probe_at", "text", required)
    .addColumn("probe_id", "text")
    .addColumn("probe_expires_at", "text")
    .addColumn("withdrawn_at", "text")
    .addPrimaryKeyConstraint("endpoints_key", ["checkpoint_id", "region"])
    .execute();
  await schema.createIndex("endpoints_due").on("endpoints").columns(["next_probe_at"]).execute();
  await schema
    .createTable("preparations")
    .addColumn("id", "text", id)
    .addColumn("model_slug", "text", required)
    .addColumn("checkpoint_id", "text", required)
    .addColumn("region", "text", required)
    .addColumn("seconds", "integer", required)
    .addColumn("observed_at", "text", required)
    .execute();
  await schema.createIndex("preparations_by_model").on("preparations").columns(["model_slug", "id"]).execute();
}

async function createFleets({ schema }: AnyDatabase): Promise<void> {
  await schema
    .createTable("fleets")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("name", "text", required)
    .addColumn("readiness_mode", "text", required)
    .addColumn("peak_active_robots", "integer", required)
    .addColumn("operating_windows", "text", required)
    .addColumn("selection", "text", required)
    .addColumn("generation_id", "text", required)
    .addColumn("update_generation_id", "text")
    .addColumn("follows_since", "text")
    .addColumn("left_out_robot_id", "text")
    .addColumn("created_at", "text", required)
    .addColumn("removed_at", "text")
    .execute();
  await schema
    .createIndex("fleets_by_name")
    .on("fleets")
    .columns(["organization_id", "name"])
    .unique()
    .where(sql.ref("removed_at"), "is", null)
    .execute();
  await schema.createIndex("fleets_by_organization").on("fleets").columns(["organization_id", "id"]).execute();
  await schema
    .createIndex("fleets_that_follow")
    .on("fleets")
    .columns(["organization_id", "id"])
    .where(sql.ref("follows_since"), "is not", null)
    .execute();
  await schema
    .createTable("fleet_windows")
    .addColumn("organization_id", "text", required)
    .addColumn("fleet_id", "text", requiredFrom("fleets.id"))
    .addColumn("starts_ms", "integer", required)
    .addColumn("ends_ms", "integer", required)
    .addPrimaryKeyConstraint("fleet_windows_key", ["fleet_id", "ends_ms"])
    .execute();
  for (const edge of ["starts_ms", "ends_ms"]) {
    const index = schema.createIndex(`fleet_windows_by_${edge}`).on("fleet_windows");
    await index.columns(["organization_id", edge]).execute();
  }
  await schema
    .createTable("fleet_members")
    .addColumn("fleet_id", "text", requiredFrom("fleets.id"))
    .addColumn("robot_id", "text", requiredFrom("robots.id"))
    .addPrimaryKeyConstraint("fleet_members_key", ["fleet_id", "robot_id"])
    .execute();
  await schema.createIndex("fleet_members_by_robot").on("fleet_members").columns(["robot_id"]).execute();
  await schema
    .createTable("fleet_checks")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", required)
    .addColumn("subject_id", "text", required)
    .addColumn("actor", "text", required)
    .addColumn("request_id", "text")
    .execute();
  await schema
    .createTable("generations")
    .addColumn("id", "text", id)
    .addColumn("fleet_id", "text", requiredFrom("fleets.id"))
    .addColumn("subject", "text", required)
    .addColumn("checkpoint_id", "text", requiredFrom("checkpoints.id"))
    .addColumn("created_at", "text", required)
    .addColumn("activated_at", "text")
    .addColumn("superseded_at", "text")
    .execute();
  await schema.createIndex("generations_by_fleet").on("generations").columns(["fleet_id", "id"]).execute();
  await schema
    .createIndex("generations_in_use")
    .on("generations")
    .columns(["checkpoint_id"])
    .where(sql.ref("superseded_at"), "is", null)
    .execute();
}

async function createDeployments({ schema }: AnyDatabase): Promise<void> {
  await schema
    .createTable("deployments")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("robot_id", "text", requiredFrom("robots.id"))
    .addColumn("model_slug", "text", required)
    .addColumn("checkpoint_id", "text", requiredFrom("checkpoints.id"))
    .addColumn("region", "text", required)
    .addColumn("status", "text", required)
    .addColumn("generation_id", "text", required)
    .addColumn("last_error_code", "text")
    .addColumn("created_at", "text", required)
    .addColumn("activated_at", "text")
    .addColumn("retired_at", "text")
    .addColumn("usage_from", "text")
    .addColumn("usage_id", "text")
    .addColumn("usage_until", "text")
    .execute();
  const index = (name: string) => schema.createIndex(name).on("deployments");
  const ofCurrent = (name: string) => index(name).where(sql.ref("retired_at"), "is", null);
  // A robot has at most one current deployment, also with concurrent requests.
  await ofCurrent("deployments_current").columns(["robot_id"]).unique().execute();
  await ofCurrent("deployments_in_use").columns(["checkpoint_id"]).execute();
  await ofCurrent("deployments_unretired").columns(["id"]).execute();
  await ofCurrent("deployments_current_by_organization").columns(["organization_id"]).execute();
  await index("deployments_by_robot").columns(["robot_id"]).execute();
  await index("deployments_by_organization").columns(["organization_id", "id"]).execute();
  await index("deployments_metered").columns(["usage_from"]).where(sql.ref("usage_from"), "is not", null).execute();
  await index("deployments_by_usage")
    .columns(["organization_id", "usage_id"])
    .where(sql.ref("usage_id"), "is not", null)
    .execute();
  await schema
    .createTable("usage_records")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("deployment_id", "text", requiredFrom("deployments.id"))
    .addColumn("robot_name", "text", required)
    .addColumn("model_slug", "text", required)
    .addColumn("usage_type", "text", required)
    .addColumn("sku", "text", required)
    .addColumn("quantity", "integer", required)
    .addColumn("unit", "text", required)
    .addColumn("period_start", "text", required)
    .addColumn("period_end", "text", required)
    .addColumn("created_at", "text", required)
    .execute();
  const ledgerIndex = (name: string) => schema.createIndex(name).on("usage_records").columns(["organization_id", "id"]);
  await ledgerIndex("usage_records_by_organization").execute();
  // Periods are split each hour, so only outages leave long ones.
  await ledgerIndex("usage_records_long").where(sql.ref("quantity"), ">", sql.lit(USUAL_PERIOD_S)).execute();
}

async function createLogins({ schema }: AnyDatabase): Promise<void> {
  await schema
    .createTable("login_exchanges")
    .addColumn("id", "text", id)
    .addColumn("verifier_sha256", "text", required)
    .addColumn("callback_url", "text", required)
    .addColumn("client_address", "text", required)
    .addColumn("client_site", "text", required)
    .addColumn("client_program", "text")
    .addColumn("delivery", "text")
    .addColumn("state", "text", required)
    .addColumn("code_sha256", "text")
    .addColumn("organization_id", "text", (column) => column.references("organizations.id"))
    .addColumn("approved_by", "text")
    .addColumn("last_polled_at", "text")
    .addColumn("created_at", "text", required)
    .addColumn("expires_at", "text", required)
    .execute();
  await schema
    .createTable("sessions")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("kind", "text", required)
    .addColumn("token_sha256", "text", (column) => column.notNull().unique())
    .addColumn("created_by", "text", required)
    .addColumn("scopes", "text")
    .addColumn("created_at", "text", required)
    .addColumn("last_used_at", "text")
    .addColumn("expires_at", "text", required)
    .addColumn("revoked_at", "text")
    .execute();
  await schema.createIndex("sessions_by_key").on("sessions").columns(["created_by"]).execute();
}

async function createLogs({ schema }: AnyDatabase): Promise<void> {
  await schema
    .createTable("audit_log")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text")
    .addColumn("at", "text", required)
    .addColumn("actor", "text", required)
    .addColumn("request_id", "text")
    .addColumn("action", "text", required)
    .addColumn("subject_id", "text", required)
    .addColumn("details", "text", required)
    .addColumn("previous_id", "text")
    .execute();
  // Without registrations of robots: they are many, and are read along `previous_id`.
  await schema
    .createIndex("audit_log_of_people")
    .on("audit_log")
    .columns(["organization_id", "id"])
    .where(sql.ref("action"), "<>", sql.lit("robot.setup"))
    .execute();
  await schema
    .createIndex("audit_log_of_members")
    .on("audit_log")
    .columns(["subject_id", "id"])
    .where(sql.ref("action"), "in", [sql.lit("fleet.join"), sql.lit("fleet.leave"), sql.lit("fleet.leave_out")])
    .execute();
  await schema
    .createTable("refusals")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("robot", "text", required)
    .addColumn("status", "integer", required)
    .addColumn("actor", "text", required)
    .addColumn("address", "text", required)
    .addColumn("detail", "text", required)
    .addColumn("request_id", "text")
    .addColumn("first_at", "text", required)
    .addColumn("last_at", "text", required)
    .addColumn("count", "integer", required)
    .addUniqueConstraint("refusals_alike", ["organization_id", "robot", "status", "actor", "address"])
    .execute();
  await schema.createIndex("refusals_newest").on("refusals").columns(["organization_id", "last_at"]).execute();
  await schema
    .createTable("limits_met")
    .addColumn("limit_name", "text", required)
    .addColumn("party", "text", required)
    .addColumn("organization_id", "text")
    .addColumn("first_at", "text", required)
    .addColumn("last_at", "text", required)
    .addColumn("count", "integer", required)
    .addPrimaryKeyConstraint("limits_met_key", ["limit_name", "party"])
    .execute();
}

async function createWebhooks({ schema }: AnyDatabase): Promise<void> {
  await schema
    .createTable("webhooks")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", requiredFrom("organizations.id"))
    .addColumn("url", "text", required)
    .addColumn("events", "text")
    .addColumn("secret", "text", required)
    .addColumn("created_at", "text", required)
    .addColumn("failing_since", "text")
    .addColumn("full_since", "text")
    .addColumn("dropped_events", "integer", required)
    .addColumn("disabled_at", "text")
    .addColumn("disabled_reason", "text")
    .addColumn("removed_at", "text")
    .execute();
  await schema.createIndex("webhooks_by_organization").on("webhooks").columns(["organization_id", "id"]).execute();
  await schema
    .createTable("webhook_deliveries")
    .addColumn("id", "text", id)
    .addColumn("organization_id", "text", required)
    .addColumn("webhook_id", "text", required)
    .addColumn("event_id", "text", required)
    .addColumn("event_type", "text", required)
    .addColumn("body", "text", required)
    .addColumn("status", "text", required)
    .addColumn("attempts", "integer", required)
    .addColumn("created_at", "text", required)
    .addColumn("next_attempt_at", "text", required)
    .addColumn("claim_id", "text")
    .addColumn("last_attempt_at", "text")
    .addColumn("last_status", "integer")
    .addColumn("last_error", "text")
    .execute();
  const index = (name: string) => schema.createIndex(name).on("webhook_deliveries");
  await index("webhook_deliveries_by_webhook").columns(["webhook_id", "id"]).execute();
  await index("webhook_deliveries_pending")
    .columns(["webhook_id", "next_attempt_at"])
    .where(sql.ref("status"), "=", sql.lit("pending"))
    .execute();
  await schema
    .createTable("reported_states")
    .addColumn("subject_id", "text", id)
    .addColumn("organization_id", "text", required)
    .addColumn("kind", "text", required)
    .addColumn("state", "text", required)
    .addColumn("reported_at", "text", required)
    .execute();
  await schema
    .createIndex("reported_states_by_kind")
    .on("reported_states")
    .columns(["kind", "organization_id", "subject_id"])
    .execute();
}
