import { prepare } from "../store/prepared.ts";
import type { Reader } from "../store/store.ts";
import type { Tables, Transaction } from "../store/tables.ts";

/** The key columns that authentication needs. */
export type KeyRow = Pick<
  Tables["api_keys"],
  "id" | "organization_id" | "key_sha256" | "scopes" | "expires_at" | "revoked_at"
>;

/** The columns of a key without its hash. */
const VIEW_COLUMNS = [
  "id",
  "label",
  "key_prefix",
  "key_last4",
  "scopes",
  "created_at",
  "last_used_at",
  "expires_at",
  "revoked_at",
  "created_by",
  "parent_id",
  "enrolment",
] as const;

export interface KeyViewRow extends Pick<Tables["api_keys"], (typeof VIEW_COLUMNS)[number]> {
  /** Robots that it has added or approved, if it is a key for enrolments. */
  readonly uses: number;
  /** The robot that enrolled last with it; null for a key for anything else. */
  readonly last_robot_id: string | null;
}

/** Looks up a key by its hash. The only key query without an organization, because it determines it. */
export async function findKey(reader: Reader, keySha256: string): Promise<KeyRow | undefined> {
  const [key] = await selectByHash(reader, { key_sha256: keySha256 });
  return key;
}

const selectByHash = prepare<Pick<KeyRow, "key_sha256">, KeyRow>((database, parameter) =>
  database
    .selectFrom("api_keys")
    .select(["id", "organization_id", "key_sha256", "scopes", "expires_at", "revoked_at"])
    .where("key_sha256", "=", parameter("key_sha256")),
);

/** Keys of an organization, as their views show them. */
export function selectKeys(reader: Reader, organizationId: string) {
  return reader
    .selectFrom("api_keys")
    .select(VIEW_COLUMNS)
    .select(({ selectFrom, eb }) => [
      eb(
        selectFrom("robots")
          .select(({ fn }) => fn.countAll<number>().as("added"))
          .whereRef("made_by", "=", "api_keys.id")
          .where("api_keys.enrolment", "is not", null)
          .$asScalar()
          .$notNull(),
        "+",
        selectFrom("enrolments")
          .select(({ fn }) => fn.countAll<number>().as("approved"))
          .where("api_keys.enrolment", "is not", null)
          .where("enrolments.status", "=", "approved")
          .where("enrolments.installation_id", "is", null)
          .whereRef("enrolments.key_id", "=", "api_keys.id")
          .$asScalar()
          .$notNull(),
      ).as("uses"),
      // Such a key adds a robot with each use, and never takes one over.
      selectFrom("robots")
        .select("robots.id")
        .whereRef("made_by", "=", "api_keys.id")
        .where("api_keys.enrolment", "is not", null)
        .orderBy("robots.id", "desc")
        .limit(1)
        .as("last_robot_id"),
    ])
    .where("organization_id", "=", organizationId);
}

/** One key of an organization with a share lock: others cannot revoke it before the transaction ends. */
export function lockKeyShared(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<KeyViewRow | undefined> {
  return keyOf(transaction, organizationId, id).forKeyShare().executeTakeFirst();
}

/** One key of an organization, locked against others who add robots with it until the transaction ends, and as it is by then. */
export async function holdKeyToAdd(
  transaction: Transaction,
  organizationId: string,
  id: string,
): Promise<KeyViewRow | undefined> {
  // A stronger lock would deadlock with the share locks on the key.
  await keyOf(transaction, organizationId, id).forNoKeyUpdate().execute();
  // The lock may have waited, and its own statement does not see what was added meanwhile.
  return keyOf(transaction, organizationId, id).executeTakeFirst();
}

/** One key of an organization, locked against other changes until the transaction ends. */
export function lockKey(transaction: Transaction, organizationId: string, id: string): Promise<KeyViewRow | undefined> {
  return keyOf(transaction, organizationId, id).forUpdate().executeTakeFirst();
}

function keyOf(transaction: Transaction, organizationId: string, id: string) {
  return selectKeys(transaction, organizationId).where("id", "=", id);
}
