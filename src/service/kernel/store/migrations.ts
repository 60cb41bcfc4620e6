import { sql } from "kysely";
import type { ColumnDefinitionBuilder, Kysely } from "kysely";

/** A usage period longer than a day is rare, and has an index of its own. */
export const USUAL_PERIOD_S = 86_400;

type AnyDatabase = Pick<Kysely<unknown>, "schema" | "getExecutor">;

/** Steps of the schema by name, in the order of their names. */
export type Migrations = Readonly<Record<string, (database: AnyDatabase) => Promise<void>>>;

/** Each step is applied once. A released step never changes, and does not refer to `Tables`, which are those of today. */
export const MIGRATIONS: Migrations = { "0001-initial": createTables };

async function createTables(database: AnyDatabase): Promise<void> {
  await createOrganizations(database);
  await createRobots(database);
  await createModels(database);
  await createFleets(database);
  await createDeployments(database);
  await createLogins(database);
  await createLogs(database);
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
    .execute();
  await schema.createIndex("api_keys_by_organization").on("api_keys").columns(["organization_id", "id"]).execute();
  await schema
    .createIndex("api_keys_by_parent")
    .on("api_keys")
    .columns(["parent_id"])
    .where(sql.ref("parent_id"), "is not", null)
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
    .addUniqueConstraint("robots_by_name", ["organization_id", "name"])
    .execute();
  await schema.createIndex("robots_by_organization").on("robots").columns(["organization_id", "id"]).execute();
  await schema.createIndex("robots_by_maker").on("robots").columns(["made_by"]).execute();
  await schema
    .createTable("robot_labels")
    .addColumn("organization_id", "text", required)
    .addColumn("label_sha256", "text", required)
    .addColumn("robot_id", "text", requiredFrom("robots.id"))
    .addPrimaryKeyConstraint("robot_labels_key", ["organization_id", "label_sha256", "robot_id"])
    .execute();
  await schema.createIndex("robot_labels_by_robot").on("robot_labels").columns(["robot_id"]).execute();
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
    .addColumn("created_at", "text", required)
    .addUniqueConstraint("fleets_by_name", ["organization_id", "name"])
    .execute();
  await schema.createIndex("fleets_by_organization").on("fleets").columns(["organization_id", "id"]).execute();
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
  // A robot has one current deployment, whoever asks at the same time.
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
  // Periods are cut each hour: only outages leave long ones.
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
  // What people do: registrations of robots are many, and are read along `previous_id`.
  await schema
    .createIndex("audit_log_of_people")
    .on("audit_log")
    .columns(["organization_id", "id"])
    .where(sql.ref("action"), "<>", sql.lit("robot.setup"))
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
