import type { LoginDecision, LoginExchange, LoginPoll, LoginStart } from "../../api/logins.ts";
import { isoTime } from "../../platform/clock.ts";
import { createToken, hashSecret, isSameHash, SESSION_TOKEN_PREFIX } from "../kernel/auth/token.ts";
import { type Answer, answerValue, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { authorship, type Handler, type OperationContext, type OpenHandler } from "../kernel/operation.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import { readClientAddress } from "../kernel/traffic/client-address.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { chunksOf } from "../kernel/auth/lineage.ts";
import { SESSION_LIFETIME_MS } from "../kernel/auth/session-queries.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { createPruning, deleteExpired } from "../kernel/tasks/pruning.ts";
import type { Task } from "../kernel/tasks/task-loop.ts";
import { type NewSession, openSession } from "./sessions.ts";

/** Distinguishes the code of a login from other secrets. */
const CODE_PREFIX = "rps_code_";

/** Characters that are kept of the program's User-Agent. */
const PROGRAM_LENGTH = 200;

/** `POST /v1/cli/login/start`: a program requests a login. Only the hash of its verifier identifies it later. */
export function startLogin({ store, newId, machine }: OperationContext): OpenHandler<LoginStart> {
  return async ({ body, address, program }) => {
    const nowMs = machine.clock.wallMs();
    const login: LoginRow = {
      id: newId("login"),
      verifier_sha256: hashSecret(body.verifier),
      callback_url: new URL(body.callback_url).href,
      client_address: address,
      client_site: readClientAddress(address).site,
      client_program: program?.slice(0, PROGRAM_LENGTH) ?? null,
      delivery: null,
      state: "pending",
      code_sha256: null,
      organization_id: null,
      approved_by: null,
      last_polled_at: null,
      created_at: isoTime(nowMs),
      expires_at: isoTime(nowMs + LOGIN_LIFETIME_MS),
    };
    await store.write((transaction) => insertLogin(transaction, login));
    const loginUrl = `/login?exchange=${login.id}`;
    return answerValue({ exchange_id: login.id, login_url: loginUrl, user_code: userCode(login.id) });
  };
}

/** `POST /v1/cli/login/poll`: for programs that no browser can reach. */
export function pollLogin(context: OperationContext): OpenHandler<LoginPoll> {
  const { store, newId, machine } = context;
  return async ({ body, requestId }) => {
    const nowMs = machine.clock.wallMs();
    // Checked without a transaction first: polls that are refused or too fast must not cost a write.
    const early = refusalOf(loginState(await findLogin(store.reader, body.exchange_id), body.verifier, nowMs, "poll"));
    if (early !== null) return early;
    const at = isoTime(nowMs);
    const { token, session } = newSession(context);
    const author = { auditId: newId("aud"), at, requestId };
    return store.write(async (transaction) => {
      const state = loginState(await lockLogin(transaction, body.exchange_id), body.verifier, nowMs, "poll");
      const refused = refusalOf(state);
      if (refused !== null) return refused;
      if (state.state === "approved") {
        return (await completeLogin(transaction, state.login, session, author))
          ? answerValue({ status: "complete", token })
          : unauthorized("Login was denied");
      }
      await updateLogin(transaction, body.exchange_id, { last_polled_at: at });
      return answerValue({ status: "pending", interval: POLL_INTERVAL_S });
    });
  };
}

/** The answer to a poll that changes nothing; null for any other. */
function refusalOf(state: LoginState): Answer | null {
  if (state.state === "refused") return unauthorized(state.detail);
  return state.state === "too-fast" ? answerValue({ status: "slow_down", interval: POLL_INTERVAL_S }) : null;
}

/** `POST /v1/cli/login/exchange`: exchanges the code that the person's browser delivered for a token. */
export function exchangeLogin(context: OperationContext): OpenHandler<LoginExchange> {
  const { store, newId, machine } = context;
  return async ({ body, requestId }) => {
    const nowMs = machine.clock.wallMs();
    const { token, session } = newSession(context);
    const author = { auditId: newId("aud"), at: isoTime(nowMs), requestId };
    return store.write(async (transaction) => {
      const state = loginState(await lockLogin(transaction, body.exchange_id), body.verifier, nowMs, "redirect");
      if (state.state === "refused") return unauthorized(state.detail);
      // There is no code before the approval.
      if (state.state !== "approved") return unauthorized("Invalid login code");
      const { code_sha256: codeSha256 } = state.login;
      if (codeSha256 === null || !isSameHash(codeSha256, hashSecret(body.code))) {
        return unauthorized("Invalid login code");
      }
      return (await completeLogin(transaction, state.login, session, author))
        ? answerValue({ token })
        : unauthorized("Login was denied");
    });
  };
}

/** `POST /v1/cli/login/decide`: approves or denies a login. Only this answer contains the code, in the program's callback URL. */
export function decideLogin({ newId, machine }: OperationContext): Handler<LoginDecision> {
  return async (call) => {
    const { principal, body } = call;
    if (principal.scopes !== null) {
      return refuse("Forbidden", "A restricted API key cannot approve a login, because a session may do everything");
    }
    const nowMs = machine.clock.wallMs();
    const author = authorship(call, newId, isoTime(nowMs));
    const code = createToken(CODE_PREFIX, machine.random);
    const isApproved = body.decision === "approve";
    return call.write(async (transaction) => {
      const login = await lockLogin(transaction, body.exchange_id);
      if (login === undefined || isOver(login, nowMs)) return refuseUnknown(body.exchange_id);
      if (login.state !== "pending") return refuse("Conflict", "The login has been decided already");
      await updateLogin(transaction, login.id, {
        state: isApproved ? "approved" : "denied",
        delivery: isApproved ? (body.delivery ?? null) : null,
        code_sha256: isApproved ? hashSecret(code) : null,
        organization_id: principal.organizationId,
        approved_by: isApproved ? principal.keyId : null,
      });
      await audit(transaction, author, {
        action: isApproved ? "login.approve" : "login.deny",
        subjectId: login.id,
        details: { callback_url: login.callback_url },
      });
      const status = isApproved ? "approved" : "denied";
      return answerValue({ status, redirect_url: redirectUrl(login, isApproved ? code : null) });
    });
  };
}

function newSession({ newId, machine }: OperationContext) {
  const token = createToken(SESSION_TOKEN_PREFIX, machine.random);
  return { token, session: { id: newId("ses"), token_sha256: hashSecret(token) } };
}

/** Like an OAuth 2.0 redirect (RFC 6749, 4.1.2): a code, or why there is none. */
function redirectUrl({ id, callback_url: callbackUrl }: LoginRow, code: string | null): string {
  const url = new URL(callbackUrl);
  url.searchParams.set("exchange_id", id);
  if (code === null) url.searchParams.set("error", "access_denied");
  else url.searchParams.set("code", code);
  return url.href;
}

function refuseUnknown(exchangeId: string): Answer {
  const fault = ruleBroken("there is no such login under way");
  return refuseInvalid([{ ...fault, loc: ["body", "exchange_id"], input: exchangeId }]);
}

function unauthorized(detail: string): Answer {
  return refuse("Unauthorized", detail, { "www-authenticate": "Bearer" });
}

/** A pending or recently completed login. */
export type LoginRow = Tables["login_exchanges"];

/** Maximum logins in the whole service: anyone may start one without a credential. */
export const LOGINS_MAXIMUM = 10_000;

/**
 * Adds a login. At `LOGINS_MAXIMUM`, deletes the oldest login of the network that started most, in whatever state: a client that
 * starts thousands displaces only its own.
 */
export async function insertLogin(transaction: Transaction, login: LoginRow): Promise<void> {
  const { count } = await transaction
    .selectFrom("login_exchanges")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  const tooMany = count + 1 - LOGINS_MAXIMUM;
  if (tooMany > 0) await deleteOldestLogins(transaction, tooMany);
  await transaction.insertInto("login_exchanges").values(login).execute();
}

export function findLogin(reader: Reader, id: string): Promise<LoginRow | undefined> {
  return reader.selectFrom("login_exchanges").selectAll().where("id", "=", id).executeTakeFirst();
}

/** The login, with its row locked until the transaction ends. */
export function lockLogin(transaction: Transaction, id: string): Promise<LoginRow | undefined> {
  return transaction.selectFrom("login_exchanges").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();
}

async function updateLogin(
  transaction: Transaction,
  id: string,
  change: Partial<
    Pick<LoginRow, "state" | "delivery" | "code_sha256" | "organization_id" | "approved_by" | "last_polled_at">
  >,
): Promise<void> {
  await transaction.updateTable("login_exchanges").set(change).where("id", "=", id).execute();
}

/** Denies the logins that one of these keys approved and that have not become sessions yet. */
export async function denyLoginsOf(transaction: Transaction, keyIds: readonly string[]): Promise<void> {
  for (const ids of chunksOf(keyIds)) {
    await transaction
      .updateTable("login_exchanges")
      .set({ state: "denied", code_sha256: null })
      .where("approved_by", "in", ids)
      .where("state", "=", "approved")
      .execute();
  }
}

async function deleteOldestLogins(transaction: Transaction, count: number): Promise<void> {
  const greediest = transaction
    .selectFrom("login_exchanges")
    .select("client_site")
    .groupBy("client_site")
    .orderBy(({ fn }) => fn.countAll(), "desc")
    .limit(1);
  // Ids sort by start time.
  const oldest = transaction
    .selectFrom("login_exchanges")
    .select("id")
    .where("client_site", "=", greediest)
    .orderBy("id")
    .limit(count);
  await transaction.deleteFrom("login_exchanges").where("id", "in", oldest).execute();
}

/** Time limit for a person to approve a login and for the program to get the token. */
export const LOGIN_LIFETIME_MS = 10 * 60_000;
/** How long a program waits between polls. */
export const POLL_INTERVAL_S = 5;
/** Tolerance for early polls, because timers and networks are not exact. */
const POLL_GRACE_MS = 500;

/** State of a login for the program that polls. `detail` is a sentence for its user. */
export type LoginState =
  | { readonly state: "pending" }
  | { readonly state: "too-fast" }
  | { readonly state: "approved"; readonly login: LoginRow }
  | { readonly state: "refused"; readonly detail: string };

/** No vowels, so that the code spells no words, and no letters that look alike (RFC 8628, 6.1). */
const CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ";

/**
 * The code that terminal and page show, such as `WDJB-MJHT`, so that a person can see that both belong to one login. It is no secret
 * and may therefore be derived from the login's id.
 */
export function userCode(exchangeId: string): string {
  const letters = Array.from(Buffer.from(hashSecret(exchangeId), "hex").subarray(0, 8), (byte) =>
    CODE_LETTERS.charAt(byte % CODE_LETTERS.length),
  );
  return `${letters.slice(0, 4).join("")}-${letters.slice(4).join("")}`;
}

/**
 * The state of a login, for the program that knows its verifier; without it every login is "Invalid login". An approval for the
 * other way of delivery looks like a pending login, so that a redirect approval reaches only the program on the person's computer.
 *
 * @param nowMs since the Unix epoch.
 * @param way in which the program requests the token.
 */
export function loginState(
  login: LoginRow | undefined,
  verifier: string,
  nowMs: number,
  way: NonNullable<LoginRow["delivery"]>,
): LoginState {
  if (login === undefined || !isSameHash(login.verifier_sha256, hashSecret(verifier))) return refused("Invalid login");
  switch (login.state) {
    case "denied":
      return refused("Login was denied");
    case "used":
      return refused("Login was already used");
    case "approved":
      if (isOver(login, nowMs)) return refused("Login has expired");
      if (login.delivery === null || login.delivery === way) return { state: "approved", login };
      return waiting(login, nowMs);
    case "pending":
      return isOver(login, nowMs) ? refused("Login has expired") : waiting(login, nowMs);
  }
}

/** Whether a login has expired: it can no longer be decided or become a session. */
export function isOver({ expires_at: expiresAt }: Pick<LoginRow, "expires_at">, nowMs: number): boolean {
  return Date.parse(expiresAt) <= nowMs;
}

/**
 * Turns an approved login into a session, once: the caller has locked its row. The session belongs to the organization of the
 * approving key and does not outlive that key.
 *
 * @returns false if that key no longer works.
 */
async function completeLogin(
  transaction: Transaction,
  { id, organization_id: organizationId, approved_by: approvedBy }: LoginRow,
  session: NewSession,
  author: Omit<Authorship, "organizationId" | "actor">,
): Promise<boolean> {
  if (organizationId === null || approvedBy === null) throw new Error(`Login ${id} is approved by nobody`);
  const opened = await openSession(transaction, session, {
    author: { ...author, organizationId, actor: approvedBy },
    organizationId,
    keyId: approvedBy,
    kind: "cli",
    lifetimeMs: SESSION_LIFETIME_MS,
    details: { login_id: id },
  });
  if (opened !== null) await updateLogin(transaction, id, { state: "used", code_sha256: null });
  return opened !== null;
}

function waiting(login: LoginRow, nowMs: number): LoginState {
  return isTooFast(login, nowMs) ? { state: "too-fast" } : { state: "pending" };
}

function isTooFast({ last_polled_at: lastPolledAt }: LoginRow, nowMs: number): boolean {
  if (lastPolledAt === null) return false;
  const sinceMs = nowMs - Date.parse(lastPolledAt);
  // Negative if the clock was set back; then the program need not wait.
  return sinceMs >= 0 && sinceMs < POLL_INTERVAL_S * 1000 - POLL_GRACE_MS;
}

function refused(detail: string): LoginState {
  return { state: "refused", detail };
}

const PRUNE = { name: "prune-logins", intervalMs: 60_000 } as const;
/** How long an expired session is kept, so that its user gets "expired" instead of "unknown". */
const SESSION_MEMORY_MS = 30 * 24 * 60 * 60 * 1000;

/** Deletes expired logins, and sessions that expired long ago. */
export function createPruneLogins(context: Pick<OperationContext, "store" | "machine">): Task {
  return createPruning(context, PRUNE, async (pruning) =>
    Math.max(
      await deleteExpired(pruning, "login_exchanges", pruning.ago(0)),
      await deleteExpired(pruning, "sessions", pruning.ago(SESSION_MEMORY_MS)),
    ),
  );
}
