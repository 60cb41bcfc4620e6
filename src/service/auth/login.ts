import type { Transaction } from "kysely";

import type { Authorship } from "../store/audit.ts";
import { audit } from "../store/audit.ts";
import { lockKey } from "../store/keys.ts";
import type { LoginRow } from "../store/logins.ts";
import { updateLogin } from "../store/logins.ts";
import { insertSession } from "../store/sessions.ts";
import type { Tables } from "../store/tables.ts";
import { SESSION_LIFETIME_MS } from "./session-token.ts";
import { hashSecret, isSameHash } from "./token.ts";

/** How long a person may take to approve a login, and the program to take it up. */
export const LOGIN_LIFETIME_MS = 10 * 60_000;
/** How long a program waits between polls. */
export const POLL_INTERVAL_S = 5;
/** A poll may come this much early: timers and networks are not exact. */
const POLL_GRACE_MS = 500;

/** What a program with this verifier is told. `refused` carries the sentence for its user. */
export type LoginState =
  | { readonly state: "pending" }
  | { readonly state: "too-fast" }
  | { readonly state: "approved"; readonly login: LoginRow }
  | { readonly state: "refused"; readonly detail: string };

/** No vowels, so that no words come out, and nothing that looks like something else (RFC 8628, 6.1). */
const CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ";

/**
 * What terminal and page show of a login, `WDJB-MJHT`, for a person to see that both are of the same. It opens nothing, so that it may
 * follow from the login's id.
 */
export function userCode(exchange_id: string): string {
  const letters = Array.from(Buffer.from(hashSecret(exchange_id), "hex").subarray(0, 8), (byte) =>
    CODE_LETTERS.charAt(byte % CODE_LETTERS.length),
  );
  return `${letters.slice(0, 4).join("")}-${letters.slice(4).join("")}`;
}

/**
 * Where a login stands, for the program that started it: who cannot show its verifier learns nothing of it. An approval that goes by the
 * redirect is for whoever the person's own browser reaches, and one who polls hears nothing of it.
 *
 * @param now_ms since the Unix epoch.
 * @param way in which the program asks.
 */
export function loginState(
  login: LoginRow | undefined,
  verifier: string,
  now_ms: number,
  way: NonNullable<LoginRow["delivery"]>,
): LoginState {
  if (login === undefined || !isSameHash(login.verifier_sha256, hashSecret(verifier))) return refused("Invalid login");
  switch (login.state) {
    case "denied":
      return refused("Login was denied");
    case "used":
      return refused("Login was already used");
    case "approved":
      if (isOver(login, now_ms)) return refused("Login has expired");
      if (login.delivery === null || login.delivery === way) return { state: "approved", login };
      return waiting(login, now_ms);
    case "pending":
      return isOver(login, now_ms) ? refused("Login has expired") : waiting(login, now_ms);
  }
}

/** Whether a login may not be decided or taken up any more, whatever its state. */
export function isOver({ expires_at }: Pick<LoginRow, "expires_at">, now_ms: number): boolean {
  return Date.parse(expires_at) <= now_ms;
}

/** A session that an approved login is to become. Made before the transaction, because a job may run twice. */
export interface NewSession {
  readonly id: string;
  readonly token_sha256: string;
}

/**
 * Turns an approved login into a session, once: the caller holds its row. The session belongs where the approving key does,
 * and lives no longer than that.
 *
 * @returns false where that key does not work any more.
 */
export async function takeUpLogin(
  transaction: Transaction<Tables>,
  { id, organization_id, approved_by }: LoginRow,
  session: NewSession,
  author: Omit<Authorship, "organization_id" | "actor">,
): Promise<boolean> {
  if (organization_id === null || approved_by === null) throw new Error(`Login ${id} is approved by nobody`);
  const { at } = author;
  const key = await lockKey(transaction, organization_id, approved_by);
  if (key === undefined || key.revoked_at !== null || (key.expires_at ?? at) < at) return false;
  const expires_at = new Date(Date.parse(at) + SESSION_LIFETIME_MS).toISOString();
  await updateLogin(transaction, id, { state: "used", code_sha256: null });
  await insertSession(transaction, {
    ...session,
    organization_id,
    kind: "cli",
    created_by: approved_by,
    scopes: null,
    created_at: at,
    last_used_at: null,
    expires_at: key.expires_at !== null && key.expires_at < expires_at ? key.expires_at : expires_at,
    revoked_at: null,
  });
  await audit(
    transaction,
    { ...author, organization_id, actor: approved_by },
    { action: "session.create", subject_id: session.id, details: { login_id: id } },
  );
  return true;
}

function waiting(login: LoginRow, now_ms: number): LoginState {
  return isTooFast(login, now_ms) ? { state: "too-fast" } : { state: "pending" };
}

function isTooFast({ last_polled_at }: LoginRow, now_ms: number): boolean {
  if (last_polled_at === null) return false;
  const since_ms = now_ms - Date.parse(last_polled_at);
  // A clock that went back does not make a program wait.
  return since_ms >= 0 && since_ms < POLL_INTERVAL_S * 1000 - POLL_GRACE_MS;
}

function refused(detail: string): LoginState {
  return { state: "refused", detail };
}
