/** The values that an installation was given, and what became of each. */
import type { Transaction } from "../kernel/store/store.ts";
import { type Draft, insertCredential } from "./issue.ts";
import type { InstallationRow } from "./queries.ts";
import { type Presented, VALUES_OF_GENERATION_MAXIMUM } from "./rules.ts";

/**
 * Records the first use of a credential at `at` (ISO 8601); the value that the newest one was renewed with ends with it.
 *
 * @returns false if it was recorded before.
 */
export async function markUsed(
  transaction: Transaction,
  tokenSha256: string,
  installationId: string,
  at: string,
): Promise<boolean> {
  const used = await transaction
    .updateTable("robot_credentials")
    .set({ used_at: at })
    .where("token_sha256", "=", tokenSha256)
    .where("used_at", "is", null)
    .returning("standing")
    .executeTakeFirst();
  if (used?.standing === "newest") {
    const previous = changeOf(transaction, installationId).where("standing", "=", "previous");
    await previous.set({ standing: "superseded" }).execute();
  }
  return used !== undefined;
}

/** Whether any credential of this generation or a later one was used. */
export async function isUsedSince(
  transaction: Transaction,
  installationId: string,
  generation: number,
): Promise<boolean> {
  const used = await transaction
    .selectFrom("robot_credentials")
    .select("token_sha256")
    .where("installation_id", "=", installationId)
    .where("generation", ">=", generation)
    .where("used_at", "is not", null)
    .executeTakeFirst();
  return used !== undefined;
}

/** What the store knows of a value that a renewal presents; null if it is not one of the installation. */
export async function findPresented(
  transaction: Transaction,
  installationId: string,
  tokenSha256: string | null,
): Promise<Presented | null> {
  if (tokenSha256 === null) return null;
  const credential = await transaction
    .selectFrom("robot_credentials")
    .select(["standing", "displaced_by"])
    .where("installation_id", "=", installationId)
    .where("token_sha256", "=", tokenSha256)
    .executeTakeFirst();
  if (credential === undefined) return null;
  const { standing, displaced_by: displacedBy } = credential;
  return { standing, isCopied: displacedBy !== null && (await isUsedSince(transaction, installationId, displacedBy)) };
}

export async function isNonceUsed(
  transaction: Transaction,
  installationId: string,
  nonceSha256: string,
): Promise<boolean> {
  const nonce = await transaction
    .selectFrom("renewal_nonces")
    .select("used_at")
    .where("installation_id", "=", installationId)
    .where("nonce_sha256", "=", nonceSha256)
    .executeTakeFirst();
  return nonce !== undefined;
}

export async function countNoncesSince(
  transaction: Transaction,
  installationId: string,
  since: string,
): Promise<number> {
  const { count } = await transaction
    .selectFrom("renewal_nonces")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("installation_id", "=", installationId)
    .where("used_at", ">", since)
    .executeTakeFirstOrThrow();
  return count;
}

interface Rotated {
  readonly installation: InstallationRow;
  /** Hash of the presented value; null if it is not the installation's. */
  readonly presentedSha256: string | null;
  readonly draft: Draft;
}

/** Adds a credential of the next generation; the presented value still works until `graceUntil` (ISO 8601). */
export async function advance(
  transaction: Transaction,
  { installation, presentedSha256, draft }: Rotated,
  graceUntil: string,
): Promise<number> {
  await changeOf(transaction, installation.id)
    .set({ standing: "superseded" })
    .where("standing", "in", ["newest", "previous"])
    .where("token_sha256", "<>", presentedSha256 ?? "")
    .execute();
  await changeOf(transaction, installation.id)
    .set({ standing: "previous", grace_until: graceUntil })
    .where("token_sha256", "=", presentedSha256 ?? "")
    .execute();
  return addNewest(transaction, installation, installation.generation + 1, draft);
}

/** Adds a credential of the next generation out of order: the newest ones become displaced. */
export async function displace(
  transaction: Transaction,
  { installation, presentedSha256, draft }: Rotated,
): Promise<number> {
  const generation = installation.generation + 1;
  // The holder of the presented value has a newer one now, so showing it again proves nothing.
  await changeOf(transaction, installation.id)
    .set({ standing: "superseded", displaced_by: null })
    .where((where) => where.or([where("standing", "=", "previous"), where("token_sha256", "=", presentedSha256 ?? "")]))
    .execute();
  await changeOf(transaction, installation.id)
    .set({ standing: "displaced", displaced_by: generation })
    .where("standing", "=", "newest")
    .execute();
  return addNewest(transaction, installation, generation, draft);
}

/** Adds a credential of the newest generation. At most four of them work. */
export async function repeat(transaction: Transaction, { installation, draft }: Rotated): Promise<number> {
  const kept = transaction
    .selectFrom("robot_credentials")
    .select("token_sha256")
    .where("installation_id", "=", installation.id)
    .where("standing", "=", "newest")
    .orderBy("issued_at", "desc")
    .orderBy("token_sha256")
    .limit(VALUES_OF_GENERATION_MAXIMUM - 1);
  await changeOf(transaction, installation.id)
    .set({ standing: "superseded" })
    .where("standing", "=", "newest")
    .where("token_sha256", "not in", kept)
    .execute();
  return addNewest(transaction, installation, installation.generation, draft);
}

async function addNewest(
  transaction: Transaction,
  { id, organization_id: organizationId }: InstallationRow,
  generation: number,
  draft: Draft,
): Promise<number> {
  // Expired values that mean nothing any more: a renewal with an unknown value is treated like one with these.
  await transaction
    .deleteFrom("robot_credentials")
    .where("installation_id", "=", id)
    .where("standing", "=", "superseded")
    .where("expires_at", "<", draft.issued_at)
    .execute();
  await insertCredential(transaction, { organizationId, installationId: id, generation }, draft);
  return generation;
}

/** Forgets which values were displaced, so that none of them freezes the installation. */
export async function forgetDisplaced(transaction: Transaction, installationId: string): Promise<void> {
  const displaced = changeOf(transaction, installationId).where("standing", "=", "displaced");
  await displaced.set({ standing: "superseded", displaced_by: null }).execute();
}

function changeOf(transaction: Transaction, installationId: string) {
  return transaction.updateTable("robot_credentials").where("installation_id", "=", installationId);
}
