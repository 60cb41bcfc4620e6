import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { EndpointHealth, Tables } from "../kernel/store/tables.ts";

/** What the state of a current deployment depends on. */
export interface DeploymentFacts extends Pick<
  Tables["deployments"],
  | "id"
  | "organization_id"
  | "robot_id"
  | "checkpoint_id"
  | "region"
  | "status"
  | "last_error_code"
  | "created_at"
  | "activated_at"
> {
  readonly robot_type_id: string;
  /** The current region of the robot. */
  readonly robot_region: string;
  readonly equipment_sha256: string | null;
  readonly requirements: string;
  /** Of the endpoint in that region; null if there is none. */
  readonly health: EndpointHealth | null;
  readonly endpoint_withdrawn_at: string | null;
}

/** Deployments per query. */
export const DEPLOYMENTS_AT_A_TIME = 500;

/** The first `DEPLOYMENTS_AT_A_TIME` current deployments of all organizations with ids after `after`, by id. */
export function listDeploymentFacts(reader: Reader, after: string): Promise<readonly DeploymentFacts[]> {
  return factsOf(reader)
    .where("deployments.id", ">", after)
    .orderBy("deployments.id")
    .limit(DEPLOYMENTS_AT_A_TIME)
    .execute();
}

/** Of one deployment; undefined if it is retired. */
export function findDeploymentFacts(transaction: Transaction, id: string): Promise<DeploymentFacts | undefined> {
  return factsOf(transaction).where("deployments.id", "=", id).executeTakeFirst();
}

function factsOf(reader: Reader) {
  return reader
    .selectFrom("deployments")
    .innerJoin("robots", "robots.id", "deployments.robot_id")
    .innerJoin("checkpoints", "checkpoints.id", "deployments.checkpoint_id")
    .leftJoin("endpoints", (join) =>
      join
        .onRef("endpoints.checkpoint_id", "=", "deployments.checkpoint_id")
        .onRef("endpoints.region", "=", "robots.region"),
    )
    .select(["deployments.id", "deployments.organization_id", "deployments.robot_id", "deployments.checkpoint_id"])
    .select(["deployments.region", "deployments.status", "deployments.last_error_code", "deployments.created_at"])
    .select(["deployments.activated_at", "robots.robot_type_id", "robots.region as robot_region"])
    .select(["robots.equipment_sha256", "checkpoints.requirements"])
    .select(["endpoints.health", "endpoints.withdrawn_at as endpoint_withdrawn_at"])
    .where("deployments.retired_at", "is", null);
}
