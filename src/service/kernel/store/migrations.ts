import { type CreateTableBuilder, type Kysely, sql } from "kysely";

import { ADDED, type Column, DROPPED, TABLES } from "./tables.ts";

/** Usage periods longer than a day are rare, and have an index of their own. */
export const USUAL_PERIOD_S = 86_400;

type AnyDatabase = Pick<Kysely<unknown>, "schema" | "getExecutor">;

/** The steps of the schema, applied in the order of their names. */
export type Migrations = Readonly<Record<string, (database: AnyDatabase) => Promise<void>>>;

/**
 * Each step is applied once, and a released step never changes: the first makes `TABLES` and what later steps drop.
 */
export const MIGRATIONS: Migrations = {
  "0001-initial": createTables,
  "0002-fixed-members": fixMembers,
  "0003-no-limits-met": async (database) => void (await sql`drop table limits_met`.execute(database)),
  "0004-registrations": keepRegistrations,
  "0005-no-allowed-keys": dropAllowedKeys,
  "0006-outbox": makeOutbox,
  "0007-unbound-keys": revokeBoundKeys,
  "0008-counted-uses": dropUses,
  "0009-parts": addParts,
  "0010-served-models": addServedModels,
};

type Columns = Readonly<Record<string, Column<unknown>>>;

async function createTables(database: AnyDatabase): Promise<void> {
  const present: Readonly<Record<string, Columns>> = TABLES;
  const dropped: Readonly<Record<string, Columns>> = DROPPED;
  const added: Readonly<Record<string, readonly string[]>> = ADDED;
  // Dropped tables come last: they refer to others, and none refers to them.
  for (const name of new Set([...Object.keys(present), ...Object.keys(dropped)])) {
    const columns = Object.entries({ ...present[name], ...dropped[name] });
    const first = columns.filter(([column]) => added[name]?.includes(column) !== true);
    if (first.length > 0) await createTable(database, name, first);
  }
  for (const index of INDEXES) await sql.raw(`create ${index}`).execute(database);
}

async function createTable(
  database: AnyDatabase,
  name: string,
  columns: readonly (readonly [string, Column<unknown>])[],
): Promise<void> {
  let table: CreateTableBuilder<string, string> = database.schema.createTable(name);
  for (const [column, { type, constrain }] of columns) table = table.addColumn(column, type, constrain);
  const key = KEYS[name];
  if (key !== undefined) table = table.addPrimaryKeyConstraint(`${name}_key`, key);
  await table.execute();
}

/** Fleets whose robots joined and left by a selector keep those that they have. */
async function fixMembers(database: AnyDatabase): Promise<void> {
  await sql`drop index fleets_that_follow`.execute(database);
  await sql`drop index audit_log_of_members`.execute(database);
  await sql`drop table fleet_checks`.execute(database);
  await dropColumns(database, "fleets", ["follows_since", "left_out_robot_id"]);
}

/** Histories of robots are read by an index, no longer along references, and the last refusal stands on the robot. */
async function keepRegistrations(database: AnyDatabase): Promise<void> {
  await dropColumns(database, "audit_log", ["previous_id"]);
  await dropColumns(database, "robots", ["previous_audit_id", "recent_changes"]);
  await sql`alter table robots add column last_refusal text`.execute(database);
  await sql`drop table refusals`.execute(database);
  await sql`create index audit_log_of_robots on audit_log (subject_id, id)
    where action in ('robot.setup', 'robot.enroll', 'robot.replace_computer')`.execute(database);
}

async function dropColumns(database: AnyDatabase, table: string, columns: readonly string[]): Promise<void> {
  for (const column of columns) await database.schema.alterTable(table).dropColumn(column).execute();
}

/** What the list approved and no computer has fetched ends: the computer starts again, and waits for a person. */
async function dropAllowedKeys(database: AnyDatabase): Promise<void> {
  await sql`update enrolments set status = 'expired'
    where allowed_key_id is not null and status = 'approved' and installation_id is null`.execute(database);
  await database.schema.alterTable("enrolments").dropColumn("allowed_key_id").execute();
  await sql`drop table allowed_keys`.execute(database);
}

/** What waits for a webhook still goes there; webhooks that were disabled are gone, because nothing enables them again. */
async function makeOutbox(database: AnyDatabase): Promise<void> {
  await sql`delete from webhooks where disabled_at is not null or removed_at is not null`.execute(database);
  for (const column of Object.keys(DROPPED.webhooks)) {
    await database.schema.alterTable("webhooks").dropColumn(column).execute();
  }
  for (const column of ["previous_secret", "previous_secret_until", "last_error", "last_error_at"]) {
    await database.schema.alterTable("webhooks").addColumn(column, "text").execute();
  }
  await createTable(database, "webhook_outbox", Object.entries(TABLES.webhook_outbox));
  await sql`insert into webhook_outbox (id, webhook_id, event_id, body, attempts, next_attempt_at)
    select id, webhook_id, event_id, body, attempts, next_attempt_at from webhook_deliveries
    where status = 'pending' and webhook_id in (select id from webhooks)`.execute(database);
  await sql`drop table webhook_deliveries`.execute(database);
  await sql`create index webhook_outbox_by_webhook on webhook_outbox (webhook_id, id)`.execute(database);
  await sql`create index webhook_outbox_due on webhook_outbox (webhook_id, next_attempt_at)`.execute(database);
}

/** Keys that were bound to robots end: without the columns they could set up any. */
async function revokeBoundKeys(database: AnyDatabase): Promise<void> {
  await sql`update api_keys set revoked_at = ${new Date().toISOString()}
    where revoked_at is null and (robots is not null or max_robots is not null)`.execute(database);
  for (const column of Object.keys(DROPPED.api_keys)) {
    await database.schema.alterTable("api_keys").dropColumn(column).execute();
  }
}

/** The uses of keys for enrolments are counted by what was made with them. */
async function dropUses(database: AnyDatabase): Promise<void> {
  await database.schema.dropTable("key_uses").execute();
}

/** What digests cover, and contents. */
async function addParts(database: AnyDatabase): Promise<void> {
  for (const name of ["registration_parts", "contents", "content_uses"] as const) {
    await createTable(database, name, Object.entries(TABLES[name]));
  }
  await sql`create index content_uses_by_registration on content_uses (audit_id)`.execute(database);
}

/** Which model a health document names. */
async function addServedModels(database: AnyDatabase): Promise<void> {
  for (const column of ADDED.endpoints) {
    await database.schema.alterTable("endpoints").addColumn(column, "text").execute();
  }
}

/** Primary keys of several columns. */
const KEYS: Readonly<Record<string, string[]>> = {
  key_uses: ["key_id", "slot"],
  robot_labels: ["organization_id", "label_sha256", "robot_id"],
  renewal_nonces: ["installation_id", "nonce_sha256"],
  endpoints: ["checkpoint_id", "region"],
  fleet_windows: ["fleet_id", "ends_ms"],
  fleet_members: ["fleet_id", "robot_id"],
  contents: ["organization_id", "sha256"],
  content_uses: ["organization_id", "sha256", "audit_id"],
  limits_met: ["limit_name", "party"],
};

/** Of indexes with equally many columns for a query, SQLite takes the one that was created last: the smaller one comes after the larger. */
const INDEXES = [
  "unique index organizations_by_name on organizations (name)",
  "index api_keys_by_organization on api_keys (organization_id, id)",
  "index api_keys_by_parent on api_keys (parent_id) where parent_id is not null",
  "index robots_by_organization on robots (organization_id, id)",
  // The name of a removed robot is free, and that of a removed fleet.
  "unique index robots_by_name on robots (organization_id, name) where removed_at is null",
  "index robots_by_maker on robots (made_by, id)",
  "index robot_labels_by_robot on robot_labels (robot_id)",
  "unique index enrolments_waiting_code on enrolments (user_code) where status in ('pending', 'approved') and installation_id is null",
  "unique index enrolments_waiting_key on enrolments (public_key) where status in ('pending', 'approved') and installation_id is null",
  "index enrolments_by_code on enrolments (user_code)",
  "index enrolments_by_end on enrolments (expires_at)",
  "index enrolments_by_status on enrolments (status, expires_at)",
  "index enrolments_by_installation on enrolments (installation_id)",
  "unique index allowed_keys_by_fingerprint on allowed_keys (key_fingerprint, organization_id)",
  "index allowed_keys_by_organization on allowed_keys (organization_id, id)",
  "unique index installations_by_key on installations (public_key) where state <> 'revoked'",
  "unique index installations_live on installations (robot_id) where state <> 'revoked'",
  // Not the time of the last heartbeat: then each would change the index.
  "index installations_by_organization on installations (organization_id, state)",
  "index installations_by_robot on installations (organization_id, robot_id, id)",
  "index robot_credentials_by_installation on robot_credentials (installation_id)",
  "index checkpoints_by_model on checkpoints (model_slug, id)",
  "index endpoints_due on endpoints (next_probe_at)",
  "index preparations_by_model on preparations (model_slug, id)",
  "unique index fleets_by_name on fleets (organization_id, name) where removed_at is null",
  "index fleets_by_organization on fleets (organization_id, id)",
  "index fleets_that_follow on fleets (organization_id, id) where follows_since is not null",
  "index fleet_windows_by_starts_ms on fleet_windows (organization_id, starts_ms)",
  "index fleet_windows_by_ends_ms on fleet_windows (organization_id, ends_ms)",
  "index fleet_members_by_robot on fleet_members (robot_id)",
  "index generations_by_fleet on generations (fleet_id, id)",
  "index generations_awaited on generations (fleet_id) where activated_at is null and superseded_at is null",
  "index generations_in_use on generations (checkpoint_id) where superseded_at is null",
  "index deployments_by_organization on deployments (organization_id, id)",
  // A robot has at most one current deployment, also with concurrent requests.
  "unique index deployments_current on deployments (robot_id) where retired_at is null",
  "index deployments_in_use on deployments (checkpoint_id) where retired_at is null",
  "index deployments_unretired on deployments (id) where retired_at is null",
  "index deployments_current_by_organization on deployments (organization_id) where retired_at is null",
  // For the pages of a list; it is larger, and PostgreSQL would not take it to count.
  "index deployments_current_in_order on deployments (organization_id, id) where retired_at is null",
  "index deployments_by_robot on deployments (organization_id, robot_id, id)",
  "index deployments_metered on deployments (usage_from) where usage_from is not null",
  "index deployments_by_usage on deployments (organization_id, usage_id) where usage_id is not null",
  "index usage_records_by_organization on usage_records (organization_id, id)",
  // Periods are split each hour, so only outages leave long ones.
  `index usage_records_long on usage_records (organization_id, id) where quantity > ${USUAL_PERIOD_S}`,
  "index sessions_by_key on sessions (created_by)",
  // Without registrations of robots, which are many.
  "index audit_log_of_people on audit_log (organization_id, id) where action <> 'robot.setup'",
  "index audit_log_of_members on audit_log (subject_id, id) where action in ('fleet.join', 'fleet.leave', 'fleet.leave_out')",
  "unique index refusals_alike on refusals (organization_id, robot, status, actor, address)",
  "index refusals_newest on refusals (organization_id, last_at)",
  "index webhooks_by_organization on webhooks (organization_id, id)",
  "index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, id)",
  "index webhook_deliveries_pending on webhook_deliveries (webhook_id, next_attempt_at) where status = 'pending'",
  "index reported_states_by_kind on reported_states (kind, organization_id, subject_id)",
];
