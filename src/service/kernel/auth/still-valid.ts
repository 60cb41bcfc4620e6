import type { Transaction } from "kysely";

import type { Clock } from "../../../platform/clock.ts";
import type { Store } from "../store/store.ts";
import type { Tables } from "../store/tables.ts";
import type { Principal } from "./authenticate.ts";
import { holdActiveInstallation, holdCredential } from "./credentials.ts";

/** The credential of a request ended before its write; nothing was written. */
export class CredentialEndedError extends Error {
  constructor() {
    super("The credential ended while the request was under way");
  }
}

/** `store.write` for a principal. @throws CredentialEndedError, and what `store.write` throws. */
export type PrincipalWrite = Store["write"];

/**
 * Writes only while the credential of the principal is valid. It was valid when the request began, but its body may arrive half a minute
 * later.
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
 * Whether a credential that was valid when its request began is still valid at `at` (ISO 8601).
 *
 * Locks the credential's row, so that a concurrent revocation takes effect before or after the whole transaction.
 */
export async function isStillValid(
  transaction: Transaction<Tables>,
  { organizationId, credential, credentialId: id, expiresAt }: Principal,
  at: string,
): Promise<boolean> {
  if (credential === "robot") {
    const isActive = await holdActiveInstallation(transaction, organizationId, id);
    return isActive && expiresAt !== null && expiresAt > at;
  }
  const table = credential === "api_key" ? "api_keys" : "sessions";
  const row = await holdCredential(transaction, table, { organizationId, id });
  return row !== undefined && row.revoked_at === null && (row.expires_at === null || row.expires_at > at);
}
