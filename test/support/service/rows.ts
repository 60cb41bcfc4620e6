import type { Insertable, Transaction } from "kysely";

import type { Tables } from "../../../src/service/kernel/store/tables.ts";
import { NO_REQUIREMENTS, printRequirements, type Requirements } from "../../../src/service/models/requirements.ts";

const AT = "2026-01-01T00:00:00.000Z";

type Given<Row, Needed extends keyof Row> = Pick<Row, Needed> & Partial<Insertable<Row>>;

/** A robot row with defaults for everything that a test does not set. For tests that need more robots than they can register. */
export function robotRow(
  given: Given<Tables["robots"], "id" | "organization_id" | "name">,
): Insertable<Tables["robots"]> {
  return {
    robot_type_id: "t",
    region: "r",
    configuration_digest: "",
    labels: "{}",
    created_at: AT,
    updated_at: AT,
    refitted_at: AT,
    changed_at: AT,
    audit_id: "",
    made_by: "key_1",
    ...given,
  };
}

/** Such a row of an installation without heartbeats. */
export function installationRow(
  given: Given<Tables["installations"], "id" | "organization_id" | "robot_id">,
): Insertable<Tables["installations"]> {
  return {
    public_key: given.id,
    state: "active",
    generation: 1,
    enrolled_at: AT,
    approved_by: "key_1",
    credential_expires_at: AT,
    recoveries_remaining: 5,
    recovery_until: AT,
    ...given,
  };
}

/** Such a row of a fleet. */
export function fleetRow(
  given: Given<Tables["fleets"], "id" | "organization_id" | "name" | "generation_id">,
): Insertable<Tables["fleets"]> {
  return {
    readiness_mode: "always_ready",
    peak_active_robots: 1,
    operating_windows: "[]",
    selection: '{"kind":"robots","selector":null}',
    created_at: AT,
    ...given,
  };
}

/** Such a row of an endpoint that was never probed. */
export function endpointRow(
  given: Given<Tables["endpoints"], "checkpoint_id" | "region" | "next_probe_at">,
): Insertable<Tables["endpoints"]> {
  return {
    url: "http://127.0.0.1:1",
    health_url: "http://127.0.0.1:1/health",
    health: "unknown",
    contrary_probes: 0,
    ...given,
  };
}

/** A webhook `wh_1` of `org_1` for all events. */
export function webhookRow(given: Partial<Tables["webhooks"]> = {}): Tables["webhooks"] {
  return {
    id: "wh_1",
    organization_id: "org_1",
    url: "https://receiver.example",
    secret: "whsec_",
    events: null,
    created_at: AT,
    previous_secret: null,
    previous_secret_until: null,
    last_error: null,
    last_error_at: null,
    ...given,
  };
}

interface GivenModel {
  readonly slug: string;
  /** Id of the checkpoint. */
  readonly id: string;
  readonly requirements?: Partial<Requirements>;
  /** Creation time of both. */
  readonly at?: string;
}

/** Adds a model with one checkpoint. */
export async function insertModel(
  transaction: Transaction<Tables>,
  { slug, id, requirements = {}, at = AT }: GivenModel,
): Promise<void> {
  const model = { slug, display_name: slug, default_checkpoint_id: id, created_at: at };
  await transaction.insertInto("models").values(model).execute();
  const printed = printRequirements({ ...NO_REQUIREMENTS, ...requirements });
  const checkpoint = { id, model_slug: slug, requirements: printed, created_at: at };
  await transaction.insertInto("checkpoints").values(checkpoint).execute();
}
