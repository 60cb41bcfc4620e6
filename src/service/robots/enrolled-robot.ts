import type { Authorship } from "../kernel/store/audit.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { equipmentOf } from "./equipment.ts";
import { registrationDetails, type RegistrationDetails } from "./history.ts";
import { addLabels, labelHash, liveRobots, readLabels, removeLabels } from "./robots.ts";

/** The type of a robot until its first setup says it. */
export const GENERIC_ROBOT_TYPE_ID = "generic.robot.v1";

/**
 * What an approved enrolment says of its robot. Null, or labels without members, keeps what a robot has that is there; type, contract and
 * digest are for a new robot only.
 */
export interface EnrolledRobot extends Pick<Tables["enrolments"], "site" | "labels" | "site_inference" | ForNewRobot> {
  readonly name: string;
  readonly region: string;
  /** Of the computer. */
  readonly client_address: string;
}

type ForNewRobot = "robot_type_id" | "contract" | "configuration_digest";

/** Made before the transaction, because its job may run twice. */
interface EnrolledIdentity {
  /** Id of the robot if it is new. */
  readonly id: string;
  /** Key that adds it. */
  readonly madeBy: string;
}

/** Who approved the enrolment. The caller writes this entry of the audit log, which is part of the robot's history. */
type EnrolledBy = Authorship & { readonly organizationId: string };

export type RobotFullRow = Tables["robots"];

export interface Enrolled {
  readonly robot: RobotFullRow;
  readonly isNew: boolean;
  /** Whether its fleets must be evaluated again. */
  readonly isRefitted: boolean;
  /** Details of the audit entry: they have what registrations have there. */
  readonly details: RegistrationDetails & { readonly address: string };
}

/** The robot of this name, with its row locked until the transaction ends. */
export function lockRobotNamed(
  transaction: Transaction,
  organizationId: string,
  name: string,
): Promise<RobotFullRow | undefined> {
  return robotNamed(transaction, organizationId, name).forUpdate().executeTakeFirst();
}

export function findRobotNamed(
  reader: Reader,
  organizationId: string,
  name: string,
): Promise<RobotFullRow | undefined> {
  return robotNamed(reader, organizationId, name).executeTakeFirst();
}

/** Adds the robot of an enrolment; null if its name is taken, also by a transaction under way. */
export async function addEnrolledRobot(
  transaction: Transaction,
  enrolled: EnrolledRobot,
  { id, madeBy }: EnrolledIdentity,
  { at, organizationId, auditId }: EnrolledBy,
): Promise<Enrolled | null> {
  const { name, region, site, labels, contract, client_address: address } = enrolled;
  const registration = {
    name,
    robot_type_id: enrolled.robot_type_id ?? GENERIC_ROBOT_TYPE_ID,
    region,
    configuration_digest: enrolled.configuration_digest,
    site,
    labels,
    contract,
  };
  const details = registrationDetails(registration);
  const robot = await transaction
    .insertInto("robots")
    .values({
      ...registration,
      ...equipmentOf(contract),
      id,
      organization_id: organizationId,
      site_inference: enrolled.site_inference,
      created_at: at,
      updated_at: at,
      refitted_at: at,
      changed_at: at,
      audit_id: auditId,
      made_by: madeBy,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (robot === undefined) return null;
  await addLabels(transaction, organizationId, id, readLabels(labels).map(labelHash));
  return { robot, isNew: true, isRefitted: false, details: { ...details, address } };
}

/** Changes what an enrolment changes of a robot that is there. @param robot as it was locked. */
export async function changeEnrolledRobot(
  transaction: Transaction,
  robot: RobotFullRow,
  { region, site, labels, site_inference: siteInference, client_address: address }: EnrolledRobot,
  { at, organizationId, auditId }: EnrolledBy,
): Promise<Enrolled> {
  const sent = readLabels(labels);
  const registration = {
    region,
    site: site ?? robot.site,
    labels: sent.length > 0 ? labels : robot.labels,
  };
  const isRefitted = region !== robot.region;
  const hasChanged = isRefitted || registration.site !== robot.site || registration.labels !== robot.labels;
  const update = {
    ...registration,
    site_inference: siteInference ?? robot.site_inference,
    updated_at: at,
    refitted_at: isRefitted ? at : robot.refitted_at,
    changed_at: hasChanged ? at : robot.changed_at,
    audit_id: auditId,
  };
  const { id } = robot;
  const row = { ...robot, ...update };
  await transaction.updateTable("robots").set(update).where("id", "=", id).execute();
  const details = registrationDetails(row);
  if (hasChanged) {
    if (sent.length > 0) {
      await removeLabels(transaction, id);
      await addLabels(transaction, organizationId, id, sent.map(labelHash));
    }
  }
  return { robot: row, isNew: false, isRefitted, details: { ...details, address } };
}

function robotNamed(reader: Reader, organizationId: string, name: string) {
  return liveRobots(reader, organizationId).selectAll().where("name", "=", name);
}
