import { hash } from "node:crypto";

import { REGISTRATION_MEMBERS } from "../../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import type { RobotSetup } from "../../api/robots.ts";
import { printJson } from "../kernel/json/json.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { equipmentOf } from "./equipment.ts";

/** The columns that answers show. */
export type RobotRow = Pick<Tables["robots"], (typeof SHOWN_COLUMNS)[number]>;

export const SHOWN_COLUMNS = [
  "id",
  "name",
  "robot_type_id",
  "region",
  "created_at",
  ...ROBOT_TEXT_NAMES,
  "labels",
  "site_inference",
  "installation_id",
] as const;

/** The result of a setup. */
export interface Registered extends RobotRow, Pick<Tables["robots"], "contested_since" | "contested_at"> {
  /** `added`: the name is new. `refitted`: type, region or contract changed, so that fleets must be evaluated again. */
  readonly change: "added" | "replaced" | "refitted";
  /** Whether anything changed; false for a new robot. */
  readonly hasChanged: boolean;
}

/** A setup as the store keeps it: as texts, so that a waiting write takes no more memory than its request. */
export interface Registration extends Pick<
  Tables["robots"],
  "name" | (typeof REQUIRED_COLUMNS | typeof OPTIONAL_COLUMNS)[number]
> {
  readonly labelHashes: readonly string[];
}

/** The columns that each registration replaces. */
const REQUIRED_COLUMNS = ["robot_type_id", "region", "configuration_digest", "labels"] as const;
const OPTIONAL_COLUMNS = [...ROBOT_TEXT_NAMES, "contract", "equipment", "equipment_sha256"] as const;
/** The members that decide which models fit a robot. */
const FIT_MEMBERS = ["robot_type_id", "region", "contract"] as const;
/** While these stay, so does the equipment, which has also what the parts of the digest say. */
const EQUIPMENT_MEMBERS = ["configuration_digest", "robot_type_id", "contract"] as const;

export function registrationOf(setup: RobotSetup): Registration {
  const { name, region } = setup;
  const contract = setup.contract === null || setup.contract === undefined ? null : printJson(setup.contract);
  return {
    name,
    robot_type_id: setup.robot_type_id,
    region,
    configuration_digest: setup.configuration_digest,
    ...eachOf(ROBOT_TEXT_NAMES, (name) => setup[name] ?? null),
    labels: printJson(setup.labels ?? {}),
    contract,
    ...equipmentOf(contract),
    labelHashes: Object.entries(setup.labels ?? {}).map(labelHash),
  };
}

/**
 * Registers a robot, or replaces the registration with that name: id and created_at stay, everything else is replaced. Concurrent
 * setups with one name create one robot, on any replicas.
 *
 * @returns null, and changes nothing, where the installation that speaks for the robot is not that of `identity`.
 * @param identity id and time for a new robot, and the audit entry of this registration.
 */
export async function upsertRobot(
  transaction: Transaction,
  organizationId: string,
  registration: Registration,
  identity: RobotIdentity,
): Promise<Registered | null> {
  const { id, now } = identity;
  const [robot] = await upsert(transaction, { ...registration, ...identity, organizationId });
  if (robot === undefined) return null;
  const { refitted_at: refittedAt, audit_id: auditId, ...registered } = robot;
  const change = robot.id === id ? "added" : refittedAt === now ? "refitted" : "replaced";
  const hasChanged = change !== "added" && auditId === identity.auditId;
  if (hasChanged) await removeLabels(transaction, robot.id);
  if (hasChanged || change === "added") {
    await addLabels(transaction, organizationId, robot.id, registration.labelHashes);
  }
  return { ...registered, change, hasChanged };
}

export interface RobotIdentity {
  readonly id: string;
  readonly now: string;
  readonly auditId: string;
  /** Id of the key that registers it. */
  readonly madeBy: string;
  /** The installation that registers; null for a key or a session. */
  readonly installationId: string | null;
}

export async function isRegistered(transaction: Transaction, organizationId: string, name: string): Promise<boolean> {
  const robot = liveRobots(transaction, organizationId).select("id").where("name", "=", name);
  return (await robot.executeTakeFirst()) !== undefined;
}

/** The robot with this id, or else with this name: two lookups, because for one with `or` SQLite reads all robots of the organization. */
export async function findRobot(reader: Reader, organizationId: string, robot: string): Promise<RobotRow | undefined> {
  const robots = liveRobots(reader, organizationId).select(SHOWN_COLUMNS);
  return (
    (await robots.where("id", "=", robot).executeTakeFirst()) ??
    (await robots.where("name", "=", robot).executeTakeFirst())
  );
}

/** The robot with this id, or else with this name, with its row locked until the transaction ends. */
export async function lockRobot(
  transaction: Transaction,
  organizationId: string,
  robot: string,
): Promise<Tables["robots"] | undefined> {
  const found = await findRobot(transaction, organizationId, robot);
  if (found === undefined) return undefined;
  return liveRobots(transaction, organizationId).selectAll().where("id", "=", found.id).forUpdate().executeTakeFirst();
}

export function liveRobots(reader: Reader, organizationId: string) {
  return reader.selectFrom("robots").where("organization_id", "=", organizationId).where("removed_at", "is", null);
}

const upsert = prepare<
  Registration & RobotIdentity & { readonly organizationId: string },
  RobotRow & Pick<Tables["robots"], "refitted_at" | "audit_id" | "contested_since" | "contested_at">
>((database, parameter) =>
  database
    .insertInto("robots")
    .values({
      id: parameter("id"),
      organization_id: parameter("organizationId"),
      name: parameter("name"),
      ...eachOf(REQUIRED_COLUMNS, (column) => parameter(column)),
      ...eachOf(OPTIONAL_COLUMNS, (column) => parameter(column)),
      created_at: parameter("now"),
      updated_at: parameter("now"),
      refitted_at: parameter("now"),
      changed_at: parameter("now"),
      audit_id: parameter("auditId"),
      made_by: parameter("madeBy"),
    })
    .onConflict((conflict) =>
      conflict
        .columns(["organization_id", "name"])
        .where("removed_at", "is", null)
        .doUpdateSet(({ ref, case: when, and, eb }) => {
          const areSame = (members: readonly (typeof REGISTRATION_MEMBERS)[number][]) =>
            and(members.map((member) => eb(`robots.${member}`, "is not distinct from", ref(`excluded.${member}`))));
          const isFitted = areSame(FIT_MEMBERS);
          const isSame = areSame(REGISTRATION_MEMBERS);
          const isEquipped = areSame(EQUIPMENT_MEMBERS);
          const kept = (column: "equipment" | "equipment_sha256") =>
            when()
              .when(isEquipped)
              .then(ref(`robots.${column}`))
              .else(ref(`excluded.${column}`))
              .end();
          return {
            ...eachOf(REQUIRED_COLUMNS, (column) => ref(`excluded.${column}`)),
            ...eachOf(OPTIONAL_COLUMNS, (column) => ref(`excluded.${column}`)),
            equipment: kept("equipment"),
            equipment_sha256: kept("equipment_sha256"),
            updated_at: ref("excluded.updated_at"),
            last_refusal: null,
            refitted_at: when().when(isFitted).then(ref("robots.refitted_at")).else(ref("excluded.refitted_at")).end(),
            changed_at: when().when(isSame).then(ref("robots.changed_at")).else(ref("excluded.changed_at")).end(),
            audit_id: when().when(isSame).then(ref("robots.audit_id")).else(ref("excluded.audit_id")).end(),
          };
        })
        .where("robots.installation_id", "is not distinct from", parameter("installationId")),
    )
    .returning(SHOWN_COLUMNS)
    .returning(["refitted_at", "audit_id", "contested_since", "contested_at"]),
);

export type Label = readonly [name: string, value: string];

/** Labels from their JSON text, also one called `__proto__`. */
export function readLabels(text: string): readonly Label[] {
  const labels: unknown = JSON.parse(text);
  if (typeof labels !== "object" || labels === null) return [];
  return Object.entries(labels).filter((label): label is [string, string] => typeof label[1] === "string");
}

/** Key of a label in the index of robots: SHA-256 in hex. */
export function labelHash(label: Label): string {
  return hash("sha256", JSON.stringify(label));
}

export async function removeLabels(transaction: Transaction, robotId: string): Promise<void> {
  await deleteLabels(transaction, { robot_id: robotId });
}

/** Adds a robot to the index of labels. It must have none of these labels there yet. */
export async function addLabels(
  transaction: Transaction,
  organizationId: string,
  robotId: string,
  hashes: readonly string[],
): Promise<void> {
  for (const labelSha256 of hashes)
    await insertLabel(transaction, { organization_id: organizationId, label_sha256: labelSha256, robot_id: robotId });
}

const deleteLabels = prepare<Pick<Tables["robot_labels"], "robot_id">, never>((database, parameter) =>
  database.deleteFrom("robot_labels").where("robot_id", "=", parameter("robot_id")),
);

const insertLabel = prepare<Tables["robot_labels"], never>((database, parameter) =>
  database.insertInto("robot_labels").values({
    organization_id: parameter("organization_id"),
    label_sha256: parameter("label_sha256"),
    robot_id: parameter("robot_id"),
  }),
);

const ROBOT_NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

/** The rule in words, for those who gave another name. */
export const ROBOT_NAME_RULE =
  "a robot has a name of 1 to 64 lower-case letters, digits and hyphens, with a letter or digit first and last";

/** The name of a robot as an operator gives it, at its enrolment or later; null if it can be none. */
export function robotNameOf(name: string): string | null {
  const cleaned = name.trim().toLowerCase();
  return ROBOT_NAME.test(cleaned) ? cleaned : null;
}
