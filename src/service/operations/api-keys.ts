import type { ApiKeyCreate, ApiKeyScope } from "../../api/api-keys.ts";
import type { PageQuery } from "../../api/pages.ts";
import type { Principal } from "../auth/authenticate.ts";
import type { KeyWish } from "../auth/manage-keys.ts";
import { addKey, createdView, keyView, makeKey, revokeKey } from "../auth/manage-keys.ts";
import { isStillValid } from "../auth/still-valid.ts";
import type { Answer } from "../http/answers.ts";
import { answerJson, refuse, refuseInvalid } from "../http/answers.ts";
import { API_KEYS_MAXIMUM, listKeys } from "../store/keys.ts";
import { ruleBroken } from "../validation/finding.ts";
import { answerList, ITEMS } from "./answer-list.ts";
import type { Handler, OperationContext } from "./operation.ts";
import { authorship, refuseEnded } from "./operation.ts";

/** `POST /v1/me/api-keys`: the one answer that holds the key itself. */
export function createOrganizationKey({ store, newId, machine }: OperationContext): Handler<ApiKeyCreate> {
  return async (call) => {
    const at = new Date(machine.clock.wall_ms()).toISOString();
    const wish = readWish(call.principal, call.body, at);
    if (wish.state === "refused") return wish.answer;
    const { key, row } = makeKey(wish.wish, newId("key"), at, machine.random);
    const author = authorship(call, newId, at);
    const state = await store.write(async (transaction) => {
      if (!(await isStillValid(transaction, call.principal, at))) return "unauthorized";
      return (await addKey(transaction, row, author)) ? "made" : "too-many";
    });
    if (state === "unauthorized") return refuseEnded();
    if (state === "too-many") {
      return refuse("Conflict", `The organization has ${API_KEYS_MAXIMUM} API keys; revoke those it does not need`);
    }
    machine.log.info("api_key_created", { request_id: call.request_id, credential_id: author.actor, key_id: row.id });
    return answerJson(JSON.stringify(createdView(row, key)));
  };
}

/** `GET /v1/me/api-keys`: every key of the organization, revoked ones too, oldest first. */
export function listOrganizationKeys({ store }: OperationContext): Handler<null, PageQuery> {
  return (call) =>
    answerList(call, {
      prefix: "key",
      around: ITEMS,
      fetch: (range) => listKeys(store.reader, call.principal.organization_id, range),
      view: keyView,
    });
}

/** `DELETE /v1/me/api-keys/{key_id}`: from the next request on, on every replica. A key may revoke itself. */
export function revokeOrganizationKey({ store, newId, machine }: OperationContext): Handler<null> {
  return async (call) => {
    const { organization_id, scopes } = call.principal;
    const id = call.path["key_id"] ?? "";
    const author = authorship(call, newId, new Date(machine.clock.wall_ms()).toISOString());
    const revoked = await store.write((transaction) => revokeKey(transaction, organization_id, id, scopes, author));
    switch (revoked.state) {
      case "not-found":
        return refuse("NotFound", "API key not found");
      case "forbidden":
        return refuse("Forbidden", "The API key may not revoke one that may do more than itself");
      case "revoked": {
        const { key, changed, is_locked_out } = revoked;
        const fields = { request_id: call.request_id, credential_id: author.actor, key_id: key.id };
        if (changed) machine.log.info("api_key_revoked", fields);
        if (is_locked_out) {
          const fix = "Make one on this computer: robot-policy-service keys create";
          machine.log.warn("no_unrestricted_api_key_left", { organization_id, fix });
        }
        return answerJson(JSON.stringify(keyView(key)));
      }
    }
  };
}

type ReadWish =
  | { readonly state: "read"; readonly wish: KeyWish }
  | { readonly state: "refused"; readonly answer: Answer };

/** A credential that is restricted hands out no more than it has: neither scopes nor time. */
function readWish(principal: Principal, body: ApiKeyCreate, now: string): ReadWish {
  const { organization_id, scopes: own } = principal;
  const asked = body.expires_at ?? null;
  if (asked !== null && asked <= now) {
    const finding = { ...ruleBroken("the time is past"), loc: ["body", "expires_at"], input: asked };
    return { state: "refused", answer: refuseInvalid([finding]) };
  }
  const scopes = body.scopes ?? null;
  if (own !== null) {
    const lacking = scopes === null ? "everything" : scopes.find((scope) => !own.includes(scope));
    if (lacking !== undefined) return { state: "refused", answer: refuseScope(lacking) };
  }
  const expires_at = own === null ? asked : earliest(asked, principal.expires_at);
  return { state: "read", wish: { organization_id, label: body.label, scopes, expires_at } };
}

function refuseScope(scope: ApiKeyScope | "everything"): Answer {
  const detail =
    scope === "everything"
      ? "The API key is restricted, so it cannot make one that may do everything: name the scopes"
      : `The API key lacks the scope ${scope}, so it cannot give it to another`;
  return refuse("Forbidden", detail);
}

function earliest(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return left < right ? left : right;
}
