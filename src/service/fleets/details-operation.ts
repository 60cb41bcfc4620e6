import { answerJson } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { readSnapshot } from "../kernel/store/snapshot.ts";
import { findFleetDetails } from "./details-query.ts";
import { fleetId, UNKNOWN_FLEET } from "./operations.ts";
import { deriveDetails } from "./readiness/derive-details.ts";

/** `GET /v1/fleets/{fleet_id}/details`: members, generations, endpoints and windows, each with what keeps it from being ready. */
export function getFleetDetails({ store, machine }: OperationContext): Handler<null> {
  return async ({ principal, path }) => {
    const id = fleetId(path);
    if (id === null) return UNKNOWN_FLEET;
    const { organization_id: organizationId } = principal;
    const facts = await readSnapshot(store.reader, (snapshot) => findFleetDetails(snapshot, organizationId, id));
    if (facts === undefined) return UNKNOWN_FLEET;
    const selection: unknown = JSON.parse(facts.selection);
    return answerJson(JSON.stringify({ ...deriveDetails(facts, machine.clock.wallMs()), selection }));
  };
}
