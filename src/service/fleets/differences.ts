/** `GET /v1/fleets/{fleet_id}/differences`: what is not equal on all members. */
import { createOutliers } from "../../differences/outliers.ts";
import { answerValue } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { type Reader, readSnapshot } from "../kernel/store/store.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { contractHashOf, parseParts } from "../robots/index.ts";
import { liveFleets, UNKNOWN_FLEET } from "./queries.ts";

/** Members per query: each may have some ten kilobytes of parts. */
const MEMBERS_AT_A_TIME = 50;

export function getFleetDifferences({ store }: OperationContext): Handler<null> {
  return ({ principal: { organizationId }, path }) =>
    readSnapshot(store.reader, async (reader) => {
      const fleets = liveFleets(reader, organizationId).where("id", "=", path["fleet_id"] ?? "");
      const fleet = await fleets.executeTakeFirst();
      if (fleet === undefined) return UNKNOWN_FLEET;
      const outliers = createOutliers();
      for (let after: string | undefined = ""; after !== undefined;) {
        const members: Members = await listMembers(reader, fleet.id, after);
        for (const { id, name, parts, details, robot_type_id, region } of members) {
          outliers.add({
            robot_id: id,
            robot: name,
            members: { robot_type_id, region, contract: details === null ? null : contractHashOf(details) },
            parts: parts === null ? null : parseParts(parts),
          });
          await yieldEventLoop();
        }
        after = members.length < MEMBERS_AT_A_TIME ? undefined : members.at(-1)?.id;
      }
      return answerValue(outliers.result());
    });
}

type Members = Awaited<ReturnType<typeof listMembers>>;

function listMembers(reader: Reader, fleetId: string, after: string) {
  return reader
    .selectFrom("fleet_members")
    .innerJoin("robots", "robots.id", "fleet_members.robot_id")
    .leftJoin("audit_log", "audit_log.id", "robots.audit_id")
    .leftJoin("registration_parts", "registration_parts.audit_id", "robots.audit_id")
    .select(["robots.id", "robots.name", "robot_type_id", "region", "registration_parts.parts", "audit_log.details"])
    .where("fleet_members.fleet_id", "=", fleetId)
    .where("robots.removed_at", "is", null)
    .where("robots.id", ">", after)
    .orderBy("robots.id")
    .limit(MEMBERS_AT_A_TIME)
    .execute();
}
