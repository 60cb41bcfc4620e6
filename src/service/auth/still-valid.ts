import type { Transaction } from "kysely";

import { lockKey } from "../store/keys.ts";
import { lockSession } from "../store/sessions.ts";
import type { Tables } from "../store/tables.ts";
import type { Principal } from "./authenticate.ts";

/**
 * Whether a credential that was good when its request began still is, at `at` (ISO 8601): the body came after it, up to half a
 * minute later. For whatever would outlive a revocation, such as a new key.
 *
 * Holds the credential's row, so that a revocation at the same time comes before or after the whole transaction.
 */
export async function isStillValid(
  transaction: Transaction<Tables>,
  { organization_id, credential, credential_id }: Principal,
  at: string,
): Promise<boolean> {
  const row =
    credential === "api_key"
      ? await lockKey(transaction, organization_id, credential_id)
      : await lockSession(transaction, organization_id, credential_id);
  return row !== undefined && row.revoked_at === null && (row.expires_at === null || row.expires_at > at);
}
