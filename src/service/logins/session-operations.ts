import { createHmac, randomBytes } from "node:crypto";

import { isoNow } from "../../platform/clock.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { endSession } from "../kernel/auth/session-queries.ts";
import { CredentialEndedError } from "../kernel/auth/credentials.ts";
import { type Answer, answerJson, answerValue, refuse } from "../kernel/http/answers.ts";
import { authorship, type Handler, type OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Reader, Store } from "../kernel/store/store.ts";
import { organizationOf } from "../organizations/index.ts";

/** `DELETE /v1/cli/session`: ends the session that sent the request, never a key. */
export function endOwnSession({ newId, machine }: OperationContext): Handler<null> {
  return async (call) => {
    const { credential, credentialId: id, organizationId } = call.principal;
    if (credential !== "session") {
      return refuse("Forbidden", "An API key is no session; revoke it with DELETE /v1/me/api-keys/{key_id}");
    }
    const at = isoNow(machine.clock);
    const author = authorship(call, newId, at);
    await call.write(async (transaction) => {
      // Of two concurrent requests that end the session, only one succeeds.
      if (!(await endSession(transaction, organizationId, id, at))) throw new CredentialEndedError();
      await audit(transaction, author, { action: "session.end", subjectId: id, details: {} });
    });
    return answerValue({ id, revoked_at: at });
  };
}

/** `GET /v1/me/session`: describes the credential of the request. */
export function getSession({ store }: OperationContext): Handler<null> {
  return ({ principal }) => answerSession(store, principal);
}

/** The console requests its session first, and passes this tag (`storeTag`) to its event stream, which then reports changes since. */
const STORE_HEADER = "x-robot-policy-store";

/** Answers with the description of a credential. */
export async function answerSession(store: Pick<Store, "reader" | "version">, principal: Principal): Promise<Answer> {
  const headers = { [STORE_HEADER]: await storeTag(store, principal) };
  return { ...answerJson(await sessionView(store.reader, principal)), headers };
}

/** Versions are small numbers, so that a hash without a secret could be reversed. */
const TAG_SECRET = randomBytes(32);

/**
 * A tag of the store's version: if two tags are equal, nothing was committed in between. It does not reveal the version and differs
 * between organizations. Another process has another secret, so its tags count as a change.
 */
export async function storeTag(
  { version }: Pick<Store, "version">,
  { organizationId }: Pick<Principal, "organizationId">,
): Promise<string> {
  return createHmac("sha256", TAG_SECRET)
    .update(`${organizationId} ${await version()}`)
    .digest("base64url")
    .slice(0, 16);
}

async function sessionView(reader: Reader, principal: Principal): Promise<string> {
  const { organizationId, credential: type, credentialId: id, keyId: apiKeyId, scopes, expiresAt } = principal;
  const organization = await organizationOf(reader, organizationId);
  return JSON.stringify({
    authenticated: true,
    active_organization: { ...organization, role: scopes === null ? "admin" : "member" },
    credential: { id, type, api_key_id: apiKeyId, scopes, expires_at: expiresAt },
  });
}
