import type { Transaction } from "kysely";

import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

export type OrganizationRow = Tables["organizations"];

/** Code points. */
export const ORGANIZATION_NAME_LENGTH = { minimum: 1, maximum: 128 } as const;
/** What the organization of a new service is called. */
export const FIRST_ORGANIZATION_NAME = "default";

/** The first organization, made when there is none yet. */
export async function ensureOrganization(
  transaction: Transaction<Tables>,
  organization: OrganizationRow,
): Promise<string> {
  const first = transaction.selectFrom("organizations").select("id").orderBy("id").limit(1);
  const found = await first.executeTakeFirst();
  if (found !== undefined) return found.id;
  // Another replica that starts for the first time may be here as well; the name lets one of them through.
  await insertOrganization(transaction, organization);
  return (await first.executeTakeFirstOrThrow()).id;
}

/** Adds an organization; false when one of that name is there. */
export async function insertOrganization(
  transaction: Transaction<Tables>,
  organization: OrganizationRow,
): Promise<boolean> {
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

/** An organization by its id, or else by its name. */
export async function findOrganization(reader: Reader, nameOrId: string): Promise<OrganizationRow | undefined> {
  const found = await reader
    .selectFrom("organizations")
    .selectAll()
    .where((where) => where.or([where("id", "=", nameOrId), where("name", "=", nameOrId)]))
    .execute();
  return found.find(({ id }) => id === nameOrId) ?? found[0];
}

/** What an organization has at `now` (ISO 8601): current deployments, and keys that work. */
export async function countBelongings(
  reader: Reader,
  organizationId: string,
  now: string,
): Promise<{ readonly deployments: number; readonly apiKeys: number }> {
  const deployments = await reader
    .selectFrom("deployments")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .where("retired_at", "is", null)
    .executeTakeFirstOrThrow();
  const apiKeys = await reader
    .selectFrom("api_keys")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .where("revoked_at", "is", null)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", now)]))
    .executeTakeFirstOrThrow();
  return { deployments: deployments.count, apiKeys: apiKeys.count };
}

/** What an organization has. */
export interface Belongings extends OrganizationRow {
  readonly robots: number;
  /** Keys that work. */
  readonly api_keys: number;
}

/** What each organization has at `now` (ISO 8601), oldest first. Looks at every robot, though only in an index. */
export function readBelongings(reader: Reader, now: string): Promise<readonly Belongings[]> {
  return reader
    .selectFrom("organizations")
    .selectAll()
    .select((select) => [
      select
        .selectFrom("robots")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .whereRef("robots.organization_id", "=", "organizations.id")
        .$asScalar()
        .$notNull()
        .as("robots"),
      select
        .selectFrom("api_keys")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .whereRef("api_keys.organization_id", "=", "organizations.id")
        .where("revoked_at", "is", null)
        .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", now)]))
        .$asScalar()
        .$notNull()
        .as("api_keys"),
    ])
    .orderBy("id")
    .execute();
}

/** The organization of a credential, as its user is told of it. */
export async function organizationOf(reader: Reader, organizationId: string) {
  const organization = await findOrganization(reader, organizationId);
  if (organization === undefined) throw new Error(`A credential belongs to ${organizationId}, which is not there`);
  return { id: organization.id, name: organization.name };
}
