import type { LoginDecision, LoginExchange, LoginPoll, LoginStart } from "../../api/logins.ts";
import { isoTime } from "../../platform/clock.ts";
import { createToken, hashSecret, isSameHash, SESSION_TOKEN_PREFIX } from "../kernel/auth/token.ts";
import { type Answer, answerValue, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { authorship, type Handler, type OperationContext, type OpenHandler } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import { readClientAddress } from "../kernel/traffic/client-address.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import {
  completeLogin,
  findLogin,
  insertLogin,
  isOver,
  lockLogin,
  LOGIN_LIFETIME_MS,
  type LoginRow,
  type LoginState,
  loginState,
  POLL_INTERVAL_S,
  updateLogin,
  userCode,
} from "./logins.ts";

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
    const login_url = `/login?exchange=${login.id}`;
    return answerValue({ exchange_id: login.id, login_url, user_code: userCode(login.id) });
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
