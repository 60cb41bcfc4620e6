/** Registrations that checkpoints were trained on, looked up when a catalog is applied. */
import { HISTORY_KEPT } from "../../api/registrations.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { coveredBy, type Equipment, equipmentOf, parseEquipment } from "./equipment.ts";
import {
  contentHashOf,
  isRegistration,
  lastEntries,
  type RecordedRegistration,
  registrationDetails,
} from "./history.ts";
import { readContent, readParts, refreshEquipment } from "./parts.ts";

/** `no_contract`: it is not kept any more. `ambiguous`: robots of several organizations have this name and digest. */
export type FoundReference =
  | {
      readonly state: "found";
      readonly robot_id: string;
      readonly robot_type_id: string;
      readonly equipment: Equipment | null;
    }
  | { readonly state: "no_robot" | "no_registration" | "no_contract" }
  | { readonly state: "ambiguous"; readonly robotIds: readonly string[] };

/** The last registration with this digest of the robot with this id or, in any organization, this name. */
export async function findReference(reader: Reader, robot: string, digest: string): Promise<FoundReference> {
  const found: { readonly robot: Candidate; readonly registration: RecordedRegistration }[] = [];
  const candidates = await robotsCalled(reader, robot);
  if (candidates.length === 0) return { state: "no_robot" };
  for (const candidate of candidates) {
    const entries = await lastEntries(reader, candidate.organization_id, candidate.id, HISTORY_KEPT);
    const registration = entries
      .filter(isRegistration)
      .find(({ details: { configuration_digest: configurationDigest } }) => configurationDigest === digest);
    if (registration !== undefined) found.push({ robot: candidate, registration });
  }
  const [only, ...others] = found;
  if (only === undefined) return { state: "no_registration" };
  if (others.length > 0) return { state: "ambiguous", robotIds: found.map(({ robot: { id } }) => id) };
  return readReference(reader, only.robot, only.registration);
}

type Candidate = Tables["robots"];

/** A robot that was removed is found by its id alone. Names have an index for each organization. */
async function robotsCalled(reader: Reader, robot: string): Promise<readonly Candidate[]> {
  const byId = await reader.selectFrom("robots").selectAll().where("id", "=", robot).execute();
  if (byId.length > 0) return byId;
  return reader
    .selectFrom("robots")
    .selectAll()
    .where("organization_id", "in", (query) => query.selectFrom("organizations").select("id"))
    .where("name", "=", robot)
    .where("removed_at", "is", null)
    .orderBy("id")
    .execute();
}

async function readReference(
  reader: Reader,
  robot: Candidate,
  { id, details }: RecordedRegistration,
): Promise<FoundReference> {
  const contract = await contractAt(reader, robot, details.contract_sha256);
  if (contract === null && details.contract_sha256 !== null) return { state: "no_contract" };
  const parts = await readParts(reader, id);
  const { equipment } = equipmentOf(contract, parts === null ? null : coveredBy(parts, robot.id));
  return {
    state: "found",
    robot_id: robot.id,
    robot_type_id: details.robot_type_id,
    // As the store would give it, so that it is equal to that of the robot.
    equipment: equipment === null ? null : parseEquipment(equipment),
  };
}

/** @param sha256 in base64url; null for a registration without a contract. */
async function contractAt(reader: Reader, robot: Candidate, sha256: string | null): Promise<string | null> {
  if (sha256 === null) return null;
  const kept = await readContent(reader, robot.organization_id, contentHashOf(sha256));
  // Contracts of registrations of an earlier release are kept with the robot alone.
  return kept ?? (registrationDetails(robot).contract_sha256 === sha256 ? robot.contract : null);
}

/** Has these robots judged by all that their digests cover, because a checkpoint was trained on them. */
export async function markReferences(transaction: Transaction, robotIds: readonly string[]): Promise<void> {
  for (const id of robotIds) {
    const robots = transaction.selectFrom("robots").selectAll().where("id", "=", id);
    const robot = await robots.where("removed_at", "is", null).forUpdate().executeTakeFirst();
    if (robot !== undefined) await refreshEquipment(transaction, robot);
  }
}
