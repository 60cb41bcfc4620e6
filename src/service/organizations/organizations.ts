import { worksAt } from "../kernel/auth/credentials.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

export type OrganizationRow = Tables["organizations"];

/** Code points. */
export const ORGANIZATION_NAME_LENGTH = { minimum: 1, maximum: 128 } as const;
/** Name of the organization of a new service. */
export const FIRST_ORGANIZATION_NAME = "default";

/** The id of the oldest organization, with its row locked; creates `organization` if there is none. */
export async function ensureOrganization(transaction: Transaction, organization: OrganizationRow): Promise<string> {
  const first = transaction.selectFrom("organizations").select("id").orderBy("id").limit(1).forNoKeyUpdate();
  const found = await first.executeTakeFirst();
  if (found !== undefined) return found.id;
  // If two replicas start for the first time, the unique name lets only one insert succeed.
  await insertOrganization(transaction, organization);
  return (await first.executeTakeFirstOrThrow()).id;
}

/**
 * Locks the row of an organization, to decide between concurrent requests. Registrations go on: rows may still refer to it, which
 * `forUpdate` would not allow.
 */
export async function lockOrganization(transaction: Transaction, id: string): Promise<void> {
  await transaction.selectFrom("organizations").select("id").where("id", "=", id).forNoKeyUpdate().execute();
}

/** Adds an organization; false if its name is taken. */
export async function insertOrganization(transaction: Transaction, organization: OrganizationRow): Promise<boolean> {
  const inserted = await transaction
    .insertInto("organizations")
    .values(organization)
    .onConflict((conflict) => conflict.column("name").doNothing())
    .returning("id")
    .executeTakeFirst();
  return inserted !== undefined;
}

/** All organizations, oldest first. */
export function listOrganizations(reader: Reader): Promise<OrganizationRow[]> {
  return reader.selectFrom("organizations").selectAll().orderBy("id").execute();
}

/** Whether the service has no other organization. */
export async function isOnlyOrganization(reader: Reader): Promise<boolean> {
  return (await reader.selectFrom("organizations").select("id").limit(2).execute()).length === 1;
}

/** An organization by its id or, if no id matches, by its name. */
export async function findOrganization(reader: Reader, nameOrId: string): Promise<OrganizationRow | undefined> {
  const found = await reader
    .selectFrom("organizations")
    .selectAll()
    .where((where) => where.or([where("id", "=", nameOrId), where("name", "=", nameOrId)]))
    .execute();
  return found.find(({ id }) => id === nameOrId) ?? found[0];
}

/** An organization with the numbers of its robots and keys. */
export interface Belongings extends OrganizationRow {
  readonly robots: number;
  /** Keys that work. */
  readonly api_keys: number;
}

/** All organizations with their numbers at `now` (ISO 8601), oldest first. Scans an index of all robots. */
export function readBelongings(reader: Reader, now: string): Promise<readonly Belongings[]> {
  return reader
    .selectFrom("organizations")
    .selectAll()
    .select((select) => [
      select
        .selectFrom("robots")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .whereRef("robots.organization_id", "=", "organizations.id")
        .where("robots.removed_at", "is", null)
        .$asScalar()
        .$notNull()
        .as("robots"),
      select
        .selectFrom("api_keys")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .whereRef("api_keys.organization_id", "=", "organizations.id")
        .where(worksAt(now))
        .$asScalar()
        .$notNull()
        .as("api_keys"),
    ])
    .orderBy("id")
    .execute();
}

/** The organization of a credential, as clients see it. */
export async function organizationOf(reader: Reader, organizationId: string) {
  const organization = await findOrganization(reader, organizationId);
  if (organization === undefined) throw new Error(`A credential belongs to ${organizationId}, which does not exist`);
  return { id: organization.id, name: organization.name };
}
