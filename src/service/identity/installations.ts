/** Installations: the computers that speak for robots, at most one of each robot. */
import { isoTime } from "../../platform/clock.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { type Draft, insertCredential, isAnyUsed } from "./credentials.ts";

export type InstallationRow = Tables["installations"];

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Lifetimes and limits of enrolments and of the credentials of robots. */
export interface IdentitySettings {
  /** How long a code waits for its approval. */
  readonly codeTtlMs: number;
  /** Not below 2 h outside of tests: programs beside the agent renew when less than one hour is left. */
  readonly credentialTtlMs: number;
  /** How long the value that a renewal was made with still works, unless the new one is used before. */
  readonly graceMs: number;
  /** How long after its expiry a credential can still be renewed. */
  readonly recoveryWindowMs: number;
  /** How many times in a row. */
  readonly recoveries: number;
  /** A robot is online this long after its last heartbeat. */
  readonly onlineWindowMs: number;
  /** What happens to an installation whose key is in use on two computers. */
  readonly copiedKey: "freeze" | "warn";
}

export const IDENTITY_SETTINGS: IdentitySettings = {
  codeTtlMs: 10 * MINUTE_MS,
  credentialTtlMs: DAY_MS,
  graceMs: 10 * MINUTE_MS,
  recoveryWindowMs: 90 * DAY_MS,
  recoveries: 5,
  onlineWindowMs: 90_000,
  copiedKey: "freeze",
};

/** The live installation, of any organization, that has this public key. */
export function findLiveByKey(reader: Reader, publicKey: string): Promise<InstallationRow | undefined> {
  return reader
    .selectFrom("installations")
    .selectAll()
    .where("public_key", "=", publicKey)
    .where("state", "<>", "revoked")
    .executeTakeFirst();
}

/** The installation, with its row locked until the transaction ends. */
export function lockInstallation(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<InstallationRow | undefined> {
  return transaction
    .selectFrom("installations")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
}

/** The live installation of a robot, which may have an older id than one that it replaced, as ids follow clocks; else the last one. */
export function findInstallationOf(
  reader: Reader,
  organizationId: string,
  robotId: string,
): Promise<InstallationRow | undefined> {
  return reader
    .selectFrom("installations")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("robot_id", "=", robotId)
    .orderBy(({ eb }) => eb("state", "=", "revoked"))
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
}

export async function updateInstallation(
  transaction: Transaction,
  id: string,
  change: Partial<InstallationRow>,
): Promise<void> {
  await transaction.updateTable("installations").set(change).where("id", "=", id).execute();
}

/**
 * Adds an installation with its first credential, and revokes the robot's live one, if any.
 *
 * @returns id of the revoked installation, or null.
 */
export async function install(
  transaction: Transaction,
  installation: Pick<InstallationRow, "id" | "organization_id" | "robot_id" | "public_key" | "approved_by">,
  draft: Draft,
  settings: IdentitySettings,
): Promise<string | null> {
  const { id, organization_id: organizationId, robot_id: robotId } = installation;
  const replaced = await revokeInstallationOf(transaction, organizationId, robotId, draft.issued_at);
  await transaction
    .insertInto("installations")
    .values({
      ...installation,
      state: "active",
      generation: 1,
      enrolled_at: draft.issued_at,
      recoveries_remaining: settings.recoveries,
      ...expiryOf(draft, settings),
    })
    .execute();
  await insertCredential(transaction, installation, 1, draft);
  await pointRobotTo(transaction, robotId, id);
  return replaced;
}

/**
 * A fresh first credential in place of the one whose answer was lost.
 *
 * @returns id of its robot; null once any credential of the installation was used, or the installation is no longer active.
 */
export async function reissue(
  transaction: Transaction,
  organizationId: string,
  id: string,
  draft: Draft,
  settings: IdentitySettings,
): Promise<string | null> {
  const installation = await lockInstallation(transaction, organizationId, id);
  if (installation?.state !== "active" || installation.generation !== 1) return null;
  if (await isAnyUsed(transaction, id)) return null;
  await transaction.deleteFrom("robot_credentials").where("installation_id", "=", id).execute();
  await insertCredential(transaction, installation, 1, draft);
  await updateInstallation(transaction, id, expiryOf(draft, settings));
  return installation.robot_id;
}

/** What the row of an installation has of its newest credential. */
export function expiryOf({ expires_at: expiresAt }: Draft, { recoveryWindowMs }: IdentitySettings) {
  return {
    credential_expires_at: expiresAt,
    recovery_until: isoTime(Date.parse(expiresAt) + recoveryWindowMs),
  };
}

/** Revokes the live installation of a robot at `at` (ISO 8601). @returns its id, or null if the robot has none. */
export async function revokeInstallationOf(
  transaction: Transaction,
  organizationId: string,
  robotId: string,
  at: string,
): Promise<string | null> {
  const revoked = await transaction
    .updateTable("installations")
    .set({ state: "revoked", revoked_at: at })
    .where("organization_id", "=", organizationId)
    .where("robot_id", "=", robotId)
    .where("state", "<>", "revoked")
    .returning("id")
    .executeTakeFirst();
  if (revoked !== undefined) await pointRobotTo(transaction, robotId, null);
  return revoked?.id ?? null;
}

/** The robot's row has the id of its live installation, so that a registration sees it without a query more. */
async function pointRobotTo(transaction: Transaction, robotId: string, installationId: string | null): Promise<void> {
  await transaction.updateTable("robots").set({ installation_id: installationId }).where("id", "=", robotId).execute();
}
