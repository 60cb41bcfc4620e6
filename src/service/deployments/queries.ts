import { inRange, type PageRange } from "../kernel/lists/pages.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { EndpointHealth, Tables } from "../kernel/store/tables.ts";
import { findVerdicts } from "../models/index.ts";

export type DeploymentRow = Tables["deployments"];

/** A deployment with the values of other tables that its view shows. */
export interface DeploymentViewRow extends DeploymentRow, Pick<Tables["robots"], "robot_type_id" | "equipment_sha256"> {
  readonly robot_name: string;
  /** Null if there is no endpoint in its region. */
  readonly endpoint_url: string | null;
  /** How the robot differs from those that the checkpoint was trained on: first what stops it, if it does. */
  readonly warnings: readonly string[];
}

export async function updateDeployment(
  transaction: Transaction,
  { organization_id: organizationId, id }: Pick<DeploymentRow, "organization_id" | "id">,
  change: Partial<DeploymentRow>,
): Promise<void> {
  await transaction
    .updateTable("deployments")
    .set(change)
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .execute();
}

/** Deployments of an organization, oldest first: all, only current ones, only those of one robot. */
export async function listDeployments(
  reader: Reader,
  organizationId: string,
  range: PageRange,
  { current, robotId }: { readonly current: boolean; readonly robotId?: string | undefined },
): Promise<DeploymentViewRow[]> {
  let query = viewsOf(reader, organizationId);
  if (current) query = query.where("deployments.retired_at", "is", null);
  if (robotId !== undefined) query = query.where("deployments.robot_id", "=", robotId);
  return withWarnings(reader, await inRange(query, "deployments.id", range).execute());
}

/** Deployments of an organization that are not retired, newest first. */
export async function listCurrentDeployments(
  reader: Reader,
  organizationId: string,
  rows: number,
): Promise<DeploymentViewRow[]> {
  const current = viewsOf(reader, organizationId).where("deployments.retired_at", "is", null);
  return withWarnings(reader, await current.orderBy("deployments.id", "desc").limit(rows).execute());
}

export async function findDeployment(
  reader: Reader,
  organizationId: string,
  id: string,
): Promise<DeploymentViewRow | undefined> {
  const found = viewsOf(reader, organizationId).where("deployments.id", "=", id);
  return (await withWarnings(reader, await found.execute()))[0];
}

/** Adds the warnings of current deployments. Most checkpoints do not say what they were trained on. */
async function withWarnings(
  reader: Reader,
  rows: readonly Omit<DeploymentViewRow, "warnings">[],
): Promise<DeploymentViewRow[]> {
  const current = Map.groupBy(
    rows.filter(({ status }) => status !== "retired"),
    ({ checkpoint_id: checkpointId }) => checkpointId,
  );
  const warnings = new Map<string, readonly string[]>();
  for (const { id, requirements } of await trainedOf(reader, [...current.keys()])) {
    const deployed = current.get(id) ?? [];
    const verdicts = await findVerdicts(reader, deployed, requirements);
    for (const [index, { obstacle, warnings: said }] of verdicts.entries()) {
      warnings.set(deployed[index]?.id ?? "", obstacle === null ? said : [obstacle, ...said]);
    }
  }
  return rows.map((row) => Object.assign(row, { warnings: warnings.get(row.id) ?? [] }));
}

/** Those of these checkpoints that say what they were trained on. */
async function trainedOf(reader: Reader, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const trained = reader.selectFrom("checkpoints").select(["id", "requirements"]).where("id", "in", ids);
  return trained.where("requirements", "like", '%"trained_on":%').execute();
}

function viewsOf(reader: Reader, organizationId: string) {
  return reader
    .selectFrom("deployments")
    .innerJoin("robots", "robots.id", "deployments.robot_id")
    .leftJoin("endpoints", (join) =>
      join
        .onRef("endpoints.checkpoint_id", "=", "deployments.checkpoint_id")
        .onRef("endpoints.region", "=", "deployments.region"),
    )
    .selectAll("deployments")
    .select(["robots.name as robot_name", "robot_type_id", "equipment_sha256", "endpoints.url as endpoint_url"])
    .where("deployments.organization_id", "=", organizationId);
}

/** One deployment, locked until the transaction ends. */
export function lockDeployment(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<DeploymentRow | undefined> {
  return deploymentsForUpdate(transaction, organizationId).where("id", "=", id).executeTakeFirst();
}

/** The current deployment of a robot, locked until the transaction ends. */
export function lockCurrentDeployment(
  transaction: Transaction,
  organizationId: string,
  robotId: string,
): Promise<DeploymentRow | undefined> {
  return deploymentsForUpdate(transaction, organizationId)
    .where("robot_id", "=", robotId)
    .where("retired_at", "is", null)
    .executeTakeFirst();
}

function deploymentsForUpdate(transaction: Transaction, organizationId: string) {
  return transaction.selectFrom("deployments").selectAll().where("organization_id", "=", organizationId).forUpdate();
}

/** The requirements of a checkpoint, and the health of its endpoint in a region; null if the catalog has none there. */
export async function findOffer(
  transaction: Transaction,
  checkpointId: string,
  region: string,
): Promise<{ readonly requirements: string; readonly health: EndpointHealth | null }> {
  return transaction
    .selectFrom("checkpoints")
    .leftJoin("endpoints", (join) =>
      join
        .onRef("endpoints.checkpoint_id", "=", "checkpoints.id")
        .on("endpoints.region", "=", region)
        .on("endpoints.withdrawn_at", "is", null),
    )
    .select(["checkpoints.requirements", "endpoints.health"])
    .where("checkpoints.id", "=", checkpointId)
    .executeTakeFirstOrThrow();
}

/** What the state of a current deployment depends on: `robot_region` is the current one of the robot, `health` that of its endpoint there. */
export type DeploymentFacts = Awaited<ReturnType<typeof listDeploymentFacts>>[number];

/** Deployments per query. */
export const DEPLOYMENTS_AT_A_TIME = 500;

/** The first `DEPLOYMENTS_AT_A_TIME` current deployments of all organizations with ids after `after`, by id. */
export function listDeploymentFacts(reader: Reader, after: string) {
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
