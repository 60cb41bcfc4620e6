import type { Insertable } from "kysely";

import type { Tables } from "../../../src/service/kernel/store/tables.ts";

const AT = "2026-01-01T00:00:00.000Z";

type Given<Row, Needed extends keyof Row> = Pick<Row, Needed> & Partial<Insertable<Row>>;

/** The row of a robot of which nothing matters but what is given: for tests that need more of them than they could register. */
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
    recent_changes: "[]",
    made_by: "key_1",
    ...given,
  };
}

/** The same of a fleet. */
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
