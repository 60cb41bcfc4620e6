import { sql } from "kysely";
import type { Kysely } from "kysely";

import { parseWindows, windowsOf } from "../readiness/windows.ts";
import { fillSelection } from "./robot-selection.ts";
import { addRobotViews } from "./robot-views.ts";

/** A step knows the tables of its own time, not those of today. */
/** Of usage: longer periods have an index of their own. Part of the schema: it stays as it is. */
export const USUAL_PERIOD_S = 86_400;

type AnyDatabase = Pick<Kysely<unknown>, "schema" | "getExecutor">;

/** Steps of the schema, applied in this order, each once and never changed after a release. */
export const MIGRATIONS: Readonly<Record<string, { readonly up: (database: AnyDatabase) => Promise<void> }>> = {
  "0001-robots": { up: createRobots },
  "0002-fleets": { up: createFleets },
  "0003-console": { up: addConsole },
  "0004-registrations": { up: addRegistrationTrouble },
};

async function createRobots(database: AnyDatabase): Promise<void> {
  await database.schema
    .createTable("organizations")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .execute();
  await database.schema
    .createTable("api_keys")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text", (column) => column.notNull().references("organizations.id"))
    .addColumn("label", "text", (column) => column.notNull())
    .addColumn("key_sha256", "text", (column) => column.notNull().unique())
    .addColumn("key_prefix", "text", (column) => column.notNull())
    .addColumn("key_last4", "text", (column) => column.notNull())
    .addColumn("scopes", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("last_used_at", "text")
    .addColumn("expires_at", "text")
    .addColumn("revoked_at", "text")
    .execute();
  await database.schema
    .createIndex("api_keys_by_organization")
    .on("api_keys")
    .columns(["organization_id", "id"])
    .execute();
  await database.schema
    .createTable("robots")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text", (column) => column.notNull().references("organizations.id"))
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("robot_type_id", "text", (column) => column.notNull())
    .addColumn("region", "text", (column) => column.notNull())
    .addColumn("configuration_digest", "text", (column) => column.notNull())
    .addColumn("site", "text")
    .addColumn("labels", "text", (column) => column.notNull())
    .addColumn("contract", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("updated_at", "text", (column) => column.notNull())
    .addUniqueConstraint("robots_by_name", ["organization_id", "name"])
    .execute();
  await database.schema.createIndex("robots_by_organization").on("robots").columns(["organization_id", "id"]).execute();
}

async function createFleets(database: AnyDatabase): Promise<void> {
  await addRobotViews(database);
  await database.schema.createIndex("organizations_by_name").on("organizations").columns(["name"]).unique().execute();
  await database.schema
    .createTable("catalogs")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("applied_at", "text")
    .execute();
  await database.schema
    .createTable("models")
    .addColumn("slug", "text", (column) => column.primaryKey().notNull())
    .addColumn("display_name", "text", (column) => column.notNull())
    .addColumn("vendor", "text")
    .addColumn("model_type", "text")
    .addColumn("license_tier", "text")
    .addColumn("default_checkpoint_id", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("withdrawn_at", "text")
    .execute();
  await database.schema
    .createTable("checkpoints")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("model_slug", "text", (column) => column.notNull().references("models.slug"))
    .addColumn("requirements", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("withdrawn_at", "text")
    .execute();
  await database.schema.createIndex("checkpoints_by_model").on("checkpoints").columns(["model_slug", "id"]).execute();
  await database.schema
    .createTable("endpoints")
    .addColumn("checkpoint_id", "text", (column) => column.notNull().references("checkpoints.id"))
    .addColumn("region", "text", (column) => column.notNull())
    .addColumn("url", "text", (column) => column.notNull())
    .addColumn("health_url", "text", (column) => column.notNull())
    .addColumn("health", "text", (column) => column.notNull())
    .addColumn("contrary_probes", "integer", (column) => column.notNull())
    .addColumn("health_since", "text")
    .addColumn("last_probed_at", "text")
    .addColumn("last_error", "text")
    .addColumn("next_probe_at", "text", (column) => column.notNull())
    .addColumn("probe_id", "text")
    .addColumn("probe_expires_at", "text")
    .addColumn("withdrawn_at", "text")
    .addPrimaryKeyConstraint("endpoints_key", ["checkpoint_id", "region"])
    .execute();
  await database.schema.createIndex("endpoints_due").on("endpoints").columns(["next_probe_at"]).execute();
  await database.schema
    .createTable("preparations")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("model_slug", "text", (column) => column.notNull())
    .addColumn("checkpoint_id", "text", (column) => column.notNull())
    .addColumn("region", "text", (column) => column.notNull())
    .addColumn("seconds", "integer", (column) => column.notNull())
    .addColumn("observed_at", "text", (column) => column.notNull())
    .execute();
  await database.schema.createIndex("preparations_by_model").on("preparations").columns(["model_slug", "id"]).execute();
  await database.schema
    .createTable("fleets")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text", (column) => column.notNull().references("organizations.id"))
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("readiness_mode", "text", (column) => column.notNull())
    .addColumn("peak_active_robots", "integer", (column) => column.notNull())
    .addColumn("operating_windows", "text", (column) => column.notNull())
    .addColumn("generation_id", "text", (column) => column.notNull())
    .addColumn("update_generation_id", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addUniqueConstraint("fleets_by_name", ["organization_id", "name"])
    .execute();
  await database.schema.createIndex("fleets_by_organization").on("fleets").columns(["organization_id", "id"]).execute();
  await database.schema
    .createTable("fleet_members")
    .addColumn("fleet_id", "text", (column) => column.notNull().references("fleets.id"))
    .addColumn("robot_id", "text", (column) => column.notNull().references("robots.id"))
    .addPrimaryKeyConstraint("fleet_members_key", ["fleet_id", "robot_id"])
    .execute();
  await database.schema.createIndex("fleet_members_by_robot").on("fleet_members").columns(["robot_id"]).execute();
  await database.schema
    .createTable("generations")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("fleet_id", "text", (column) => column.notNull().references("fleets.id"))
    .addColumn("subject", "text", (column) => column.notNull())
    .addColumn("checkpoint_id", "text", (column) => column.notNull().references("checkpoints.id"))
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("activated_at", "text")
    .addColumn("superseded_at", "text")
    .execute();
  await database.schema.createIndex("generations_by_fleet").on("generations").columns(["fleet_id", "id"]).execute();
  await database.schema
    .createIndex("generations_in_use")
    .on("generations")
    .columns(["checkpoint_id"])
    .where(sql.ref("superseded_at"), "is", null)
    .execute();
  await database.schema
    .createTable("deployments")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text", (column) => column.notNull().references("organizations.id"))
    .addColumn("robot_id", "text", (column) => column.notNull().references("robots.id"))
    .addColumn("model_slug", "text", (column) => column.notNull())
    .addColumn("checkpoint_id", "text", (column) => column.notNull().references("checkpoints.id"))
    .addColumn("region", "text", (column) => column.notNull())
    .addColumn("status", "text", (column) => column.notNull())
    .addColumn("generation_id", "text", (column) => column.notNull())
    .addColumn("last_error_code", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("activated_at", "text")
    .addColumn("retired_at", "text")
    .addColumn("usage_from", "text")
    .addColumn("usage_id", "text")
    .addColumn("usage_until", "text")
    .execute();
  // One current deployment of a robot, whoever asks at the same time.
  await database.schema
    .createIndex("deployments_current")
    .on("deployments")
    .columns(["robot_id"])
    .unique()
    .where(sql.ref("retired_at"), "is", null)
    .execute();
  await database.schema
    .createIndex("deployments_in_use")
    .on("deployments")
    .columns(["checkpoint_id"])
    .where(sql.ref("retired_at"), "is", null)
    .execute();
  await database.schema
    .createIndex("deployments_unretired")
    .on("deployments")
    .columns(["id"])
    .where(sql.ref("retired_at"), "is", null)
    .execute();
  await database.schema
    .createIndex("deployments_current_by_organization")
    .on("deployments")
    .columns(["organization_id"])
    .where(sql.ref("retired_at"), "is", null)
    .execute();
  await database.schema
    .createIndex("deployments_metered")
    .on("deployments")
    .columns(["usage_from"])
    .where(sql.ref("usage_from"), "is not", null)
    .execute();
  await database.schema
    .createIndex("deployments_by_usage")
    .on("deployments")
    .columns(["organization_id", "usage_id"])
    .where(sql.ref("usage_id"), "is not", null)
    .execute();
  await database.schema.createIndex("deployments_by_robot").on("deployments").columns(["robot_id"]).execute();
  await database.schema
    .createIndex("deployments_by_organization")
    .on("deployments")
    .columns(["organization_id", "id"])
    .execute();
  await database.schema
    .createTable("usage_records")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text", (column) => column.notNull().references("organizations.id"))
    .addColumn("deployment_id", "text", (column) => column.notNull().references("deployments.id"))
    .addColumn("robot_name", "text", (column) => column.notNull())
    .addColumn("model_slug", "text", (column) => column.notNull())
    .addColumn("usage_type", "text", (column) => column.notNull())
    .addColumn("sku", "text", (column) => column.notNull())
    .addColumn("quantity", "integer", (column) => column.notNull())
    .addColumn("unit", "text", (column) => column.notNull())
    .addColumn("period_start", "text", (column) => column.notNull())
    .addColumn("period_end", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .execute();
  await database.schema
    .createIndex("usage_records_by_organization")
    .on("usage_records")
    .columns(["organization_id", "id"])
    .execute();
  await database.schema
    .createTable("login_exchanges")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("verifier_sha256", "text", (column) => column.notNull())
    .addColumn("callback_url", "text", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("code_sha256", "text")
    .addColumn("organization_id", "text", (column) => column.references("organizations.id"))
    .addColumn("approved_by", "text")
    .addColumn("last_polled_at", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("expires_at", "text", (column) => column.notNull())
    .execute();
  await database.schema
    .createTable("sessions")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text", (column) => column.notNull().references("organizations.id"))
    .addColumn("token_sha256", "text", (column) => column.notNull().unique())
    .addColumn("created_by", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("last_used_at", "text")
    .addColumn("expires_at", "text", (column) => column.notNull())
    .addColumn("revoked_at", "text")
    .execute();
  await database.schema.createIndex("sessions_by_key").on("sessions").columns(["created_by"]).execute();
  await database.schema
    .createTable("audit_log")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text")
    .addColumn("at", "text", (column) => column.notNull())
    .addColumn("actor", "text", (column) => column.notNull())
    .addColumn("request_id", "text")
    .addColumn("action", "text", (column) => column.notNull())
    .addColumn("subject_id", "text", (column) => column.notNull())
    .addColumn("details", "text", (column) => column.notNull())
    .execute();
}

/** What a console shows, and what its sign-in needs. */
async function addConsole(database: AnyDatabase): Promise<void> {
  await addConsoleSessions(database);
  await addRegistrationTimes(database);
  await database.schema.alterTable("fleets").addColumn("selection", "text").execute();
  await chainRegistrations(database);
  // Periods are cut each hour: only outages leave long ones.
  await database.schema
    .createIndex("usage_records_long")
    .on("usage_records")
    .columns(["organization_id", "id"])
    .where(sql.ref("quantity"), ">", sql.lit(USUAL_PERIOD_S))
    .execute();
}

/** Nobody knows of an older registration when it changed; it was as it is when it was last sent. */
async function addRegistrationTimes(database: AnyDatabase): Promise<void> {
  await database.schema
    .alterTable("robots")
    .addColumn("changed_at", "text", (column) => column.notNull().defaultTo(""))
    .execute();
  await sql`update robots set changed_at = updated_at`.execute(database);
}

/** Each robot names the audit entry of its last registration, and each of these the one before. */
async function chainRegistrations(database: AnyDatabase): Promise<void> {
  await database.schema.alterTable("audit_log").addColumn("previous_id", "text").execute();
  await database.schema.alterTable("robots").addColumn("audit_id", "text").execute();
  await database.schema.alterTable("robots").addColumn("previous_audit_id", "text").execute();
  await sql`update audit_log set previous_id = chain.previous_id from (
      select id, lag(id) over (partition by subject_id order by id) as previous_id
      from audit_log where action = 'robot.setup') as chain
    where audit_log.id = chain.id`.execute(database);
  await sql`update robots set audit_id = newest.id from (
      select subject_id, max(id) as id from audit_log where action = 'robot.setup' group by subject_id) as newest
    where robots.id = newest.subject_id`.execute(database);
}

/** Until then every session was a command line's, and could do everything. */
async function addConsoleSessions(database: AnyDatabase): Promise<void> {
  await database.schema
    .alterTable("sessions")
    .addColumn("kind", "text", (column) => column.notNull().defaultTo("cli"))
    .execute();
  await database.schema.alterTable("sessions").addColumn("scopes", "text").execute();
}

/** What tells operators why a registration does not hold. */
async function addRegistrationTrouble(database: AnyDatabase): Promise<void> {
  await addLineage(database);
  await addSelection(database);
  await addFleetWindows(database);
  await addLimitsMet(database);
  await addKeyRobots(database);
  await database.schema
    .alterTable("login_exchanges")
    .addColumn("client_site", "text", (column) => column.notNull().defaultTo(""))
    .execute();
  await database.schema
    .alterTable("robots")
    .addColumn("recent_changes", "text", (column) => column.notNull().defaultTo("[]"))
    .execute();
  await database.schema.alterTable("robots").addColumn("contested_since", "text").execute();
  await database.schema.alterTable("robots").addColumn("contested_at", "text").execute();
  await database.schema
    .createTable("refusals")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("organization_id", "text", (column) => column.notNull().references("organizations.id"))
    .addColumn("robot", "text", (column) => column.notNull())
    .addColumn("status", "integer", (column) => column.notNull())
    .addColumn("actor", "text", (column) => column.notNull())
    .addColumn("address", "text", (column) => column.notNull())
    .addColumn("detail", "text", (column) => column.notNull())
    .addColumn("request_id", "text")
    .addColumn("first_at", "text", (column) => column.notNull())
    .addColumn("last_at", "text", (column) => column.notNull())
    .addColumn("count", "integer", (column) => column.notNull())
    .addUniqueConstraint("refusals_alike", ["organization_id", "robot", "status", "actor", "address"])
    .execute();
  await database.schema.createIndex("refusals_newest").on("refusals").columns(["organization_id", "last_at"]).execute();
  // What people do, beside the registrations of robots, which are many and have their own way to be read.
  await database.schema
    .createIndex("audit_log_of_people")
    .on("audit_log")
    .columns(["organization_id", "id"])
    .where(sql.ref("action"), "<>", sql.lit("robot.setup"))
    .execute();
}

/** Which key made a key, and ends it; and what a person is told of a login. Of older ones nobody knows. */
async function addLineage(database: AnyDatabase): Promise<void> {
  await database.schema.alterTable("api_keys").addColumn("created_by", "text").execute();
  await database.schema.alterTable("api_keys").addColumn("parent_id", "text").execute();
  await database.schema
    .createIndex("api_keys_by_parent")
    .on("api_keys")
    .columns(["parent_id"])
    .where(sql.ref("parent_id"), "is not", null)
    .execute();
  await database.schema.alterTable("login_exchanges").addColumn("client_address", "text").execute();
  await database.schema.alterTable("login_exchanges").addColumn("client_program", "text").execute();
  await database.schema.alterTable("login_exchanges").addColumn("delivery", "text").execute();
}

/** What selectors find robots by, and what checkpoints judge them by. */
async function addSelection(database: AnyDatabase): Promise<void> {
  for (const column of ["equipment", "equipment_sha256"]) {
    await database.schema.alterTable("robots").addColumn(column, "text").execute();
  }
  await database.schema
    .createTable("robot_labels")
    .addColumn("organization_id", "text", (column) => column.notNull())
    .addColumn("label_sha256", "text", (column) => column.notNull())
    .addColumn("robot_id", "text", (column) => column.notNull().references("robots.id"))
    .addPrimaryKeyConstraint("robot_labels_key", ["organization_id", "label_sha256", "robot_id"])
    .execute();
  await database.schema.createIndex("robot_labels_by_robot").on("robot_labels").columns(["robot_id"]).execute();
  await fillSelection(database);
}

/** So that what looks after fleets need not read every window of every fleet. */
async function addFleetWindows(database: AnyDatabase): Promise<void> {
  await database.schema
    .createTable("fleet_windows")
    .addColumn("organization_id", "text", (column) => column.notNull())
    .addColumn("fleet_id", "text", (column) => column.notNull().references("fleets.id"))
    .addColumn("starts_ms", "integer", (column) => column.notNull())
    .addColumn("ends_ms", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("fleet_windows_key", ["fleet_id", "ends_ms"])
    .execute();
  for (const edge of ["starts_ms", "ends_ms"]) {
    await database.schema
      .createIndex(`fleet_windows_by_${edge}`)
      .on("fleet_windows")
      .columns(["organization_id", edge])
      .execute();
  }
  const { rows } = await sql<{ id: string; organization_id: string; operating_windows: string }>`
    select id, organization_id, operating_windows from fleets where operating_windows <> '[]'`.execute(database);
  for (const { id, organization_id, operating_windows } of rows) {
    for (const { starts_ms, ends_ms } of windowsOf(parseWindows(operating_windows))) {
      await sql`insert into fleet_windows values (${organization_id}, ${id}, ${starts_ms}, ${ends_ms})`.execute(
        database,
      );
    }
  }
}

/** What tells an administrator who takes too much. */
async function addLimitsMet(database: AnyDatabase): Promise<void> {
  await database.schema
    .createTable("limits_met")
    .addColumn("limit_name", "text", (column) => column.notNull())
    .addColumn("party", "text", (column) => column.notNull())
    .addColumn("organization_id", "text")
    .addColumn("first_at", "text", (column) => column.notNull())
    .addColumn("last_at", "text", (column) => column.notNull())
    .addColumn("count", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("limits_met_key", ["limit_name", "party"])
    .execute();
}

/** Which robots a key may set up, and which it added. Of older ones nobody knows. */
async function addKeyRobots(database: AnyDatabase): Promise<void> {
  await database.schema.alterTable("api_keys").addColumn("robots", "text").execute();
  await database.schema.alterTable("api_keys").addColumn("max_robots", "integer").execute();
  await database.schema.alterTable("robots").addColumn("made_by", "text").execute();
  await database.schema
    .createIndex("robots_by_maker")
    .on("robots")
    .columns(["made_by"])
    .where(sql.ref("made_by"), "is not", null)
    .execute();
}
