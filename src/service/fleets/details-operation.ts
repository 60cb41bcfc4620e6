import { presenceAt, presenceOf } from "../installations/index.ts";
import { answerJson } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { readSnapshot } from "../kernel/store/store.ts";
import { findFleetDetails, listMemberInstallations } from "./details-query.ts";
import { fleetId, UNKNOWN_FLEET } from "./operations.ts";
import { deriveDetails } from "./readiness/derive-details.ts";

/** `GET /v1/fleets/{fleet_id}/details`: members, generations, endpoints and windows, each with what keeps it from being ready. */
export function getFleetDetails(
  context: Pick<OperationContext, "store" | "machine"> & Parameters<typeof presenceAt>[1],
): Handler<null> {
  const { store, machine } = context;
  return async ({ principal, path }) => {
    const id = fleetId(path);
    if (id === null) return UNKNOWN_FLEET;
    const { organizationId } = principal;
    const facts = await readSnapshot(store.reader, (snapshot) => findFleetDetails(snapshot, organizationId, id));
    if (facts === undefined) return UNKNOWN_FLEET;
    const selection: object = JSON.parse(facts.selection);
    const membership = facts.follows_since === null ? {} : { membership: "follow" };
    const nowMs = machine.clock.wallMs();
    const details = deriveDetails(facts, nowMs);
    const presence = presenceAt(nowMs, context);
    const installations = await listMemberInstallations(store.reader, id);
    const statuses = new Map(installations.map((row) => [row.robot_id, presenceOf(row, presence).status]));
    const members = details.members.map((member) => ({ ...member, status: statuses.get(member.robot_id) }));
    return answerJson(JSON.stringify({ ...details, members, selection: { ...selection, ...membership } }));
  };
}
