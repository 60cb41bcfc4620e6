import type { Transaction } from "kysely";

import type { Clock } from "../../../platform/clock.ts";
import type { Store } from "../store/store.ts";
import type { Tables } from "../store/tables.ts";
import type { Principal } from "./authenticate.ts";
import { holdCredential } from "./credentials.ts";

/** The credential of a request ended before what it asked for was done; nothing was. */
export class CredentialEndedError extends Error {
  constructor() {
    super("The credential ended while the request was under way");
  }
}

/** `store.write` on behalf of somebody. @throws CredentialEndedError, and what `store.write` throws. */
export type PrincipalWrite = Store["write"];

/**
 * Writes on behalf of a principal, as long as its credential works: it was good when the request began, and the body came after that, up
 * to half a minute later.
 */
export function writeAs(
  store: Pick<Store, "write">,
  clock: Pick<Clock, "wallMs">,
  principal: Principal,
): PrincipalWrite {
  return async (job) => {
    const done = await store.write(async (transaction) => {
      const now = new Date(clock.wallMs()).toISOString();
      return (await isStillValid(transaction, principal, now)) ? { value: await job(transaction) } : null;
    });
    if (done === null) throw new CredentialEndedError();
    return done.value;
  };
}

/**
 * Whether a credential that was good when its request began still is, at `at` (ISO 8601).
 *
 * Holds the credential's row, so that a revocation at the same time comes before or after the whole transaction.
 */
export async function isStillValid(
  transaction: Transaction<Tables>,
  { organization_id: organizationId, credential, credential_id: id }: Principal,
  at: string,
): Promise<boolean> {
  const table = credential === "api_key" ? "api_keys" : "sessions";
  const row = await holdCredential(transaction, table, { organizationId, id });
  return row !== undefined && row.revoked_at === null && (row.expires_at === null || row.expires_at > at);
}
