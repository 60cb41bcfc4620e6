import { createHmac, randomBytes } from "node:crypto";

import type { Principal } from "../kernel/auth/authenticate.ts";
import { endSession } from "../kernel/auth/session-queries.ts";
import { CredentialEndedError } from "../kernel/auth/still-valid.ts";
import type { Answer } from "../kernel/http/answers.ts";
import { answerJson, refuse } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { authorship } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Reader, Store } from "../kernel/store/store.ts";
import { organizationOf } from "../organizations/index.ts";

/** `DELETE /v1/cli/session`: ends the session the request came with, and never a key. */
export function endOwnSession({ newId, machine }: OperationContext): Handler<null> {
  return async (call) => {
    const { credential, credential_id: id, organization_id: organizationId } = call.principal;
    if (credential !== "session") {
      return refuse("Forbidden", "An API key is no session; revoke it with DELETE /v1/me/api-keys/{key_id}");
    }
    const at = new Date(machine.clock.wallMs()).toISOString();
    const author = authorship(call, newId, at);
    await call.write(async (transaction) => {
      // Two requests that end it at the same time: one of them did.
      if (!(await endSession(transaction, organizationId, id, at))) throw new CredentialEndedError();
      await audit(transaction, author, { action: "session.end", subjectId: id, details: {} });
    });
    return answerJson(JSON.stringify({ id, revoked_at: at }));
  };
}

/** `GET /v1/me/session`: whose credential this is, and what it may do. */
export function getSession({ store }: OperationContext): Handler<null> {
  return ({ principal }) => answerSession(store, principal);
}

/** The console asks for its session before anything else, and its events are told what the store was then (`storeTag`). */
const STORE_HEADER = "x-robot-policy-store";

/** A credential as its user is told of it. */
export async function answerSession(store: Pick<Store, "reader" | "version">, principal: Principal): Promise<Answer> {
  const headers = { [STORE_HEADER]: await storeTag(store, principal) };
  return { ...answerJson(await sessionView(store.reader, principal)), headers };
}

/** Versions can be counted, and so could be found again by their hashes. */
const TAG_SECRET = randomBytes(32);

/**
 * Where it is the same twice, nothing was committed in between. Says nothing else of the store: nobody can tell a version by it, and
 * organizations have tags of their own. Another process has others, which counts as a change.
 */
export async function storeTag(
  { version }: Pick<Store, "version">,
  { organization_id: organizationId }: Pick<Principal, "organization_id">,
): Promise<string> {
  return createHmac("sha256", TAG_SECRET)
    .update(`${organizationId} ${await version()}`)
    .digest("base64url")
    .slice(0, 16);
}

async function sessionView(reader: Reader, principal: Principal): Promise<string> {
  const {
    organization_id: organizationId,
    credential: type,
    credential_id: id,
    key_id: apiKeyId,
    scopes,
    expires_at: expiresAt,
  } = principal;
  const organization = await organizationOf(reader, organizationId);
  return JSON.stringify({
    authenticated: true,
    active_organization: { ...organization, role: scopes === null ? "admin" : "member" },
    credential: { id, type, api_key_id: apiKeyId, scopes, expires_at: expiresAt },
  });
}
