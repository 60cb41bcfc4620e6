import * as z from "zod";

import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { text } from "./wire/text.ts";

/** A secret that the program generates and keeps, too long to guess. */
const LOGIN_VERIFIER_LENGTH = { minimum: 32, maximum: 256 } as const;
const LOGIN_ID_LENGTH = { minimum: 1, maximum: 128 } as const;

/**
 * Callback URLs: loopback only, because a code sent elsewhere would sign in whoever receives it (RFC 8252, 7.3 and 8.3). The pattern
 * excludes characters that URL parsers drop or rewrite, and fragments (RFC 6749, 3.1.2).
 */
const LOOPBACK_URL =
  /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?::(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?(?:[/?][!"$-[\]-~]*)?$/;

/** Body of `POST /v1/cli/login/start`. */
export const loginStartSchema = z
  .object({
    verifier: text(LOGIN_VERIFIER_LENGTH).describe("A secret that the program generates for this login only."),
    callback_url: text({ minimum: 1, maximum: 2048 })
      .refine(
        (url) => LOOPBACK_URL.test(url),
        "must be a URL on the program's own computer, such as http://127.0.0.1:PORT/callback, http://[::1]:PORT or http://localhost:PORT",
      )
      .meta({
        description: "Loopback URL of the program, to which the browser sends the code.",
        pattern: LOOPBACK_URL.source,
      }),
  })
  .meta({ id: "LoginStart" });
export type LoginStart = z.output<typeof loginStartSchema>;

/** `login_url` is a path on the service that a person opens in a browser. */
export const loginStartedSchema = z
  .looseObject({
    exchange_id: z.string().describe("Identifies the login in all other steps."),
    login_url: z
      .string()
      .describe("Path of the page on which a person decides. The site provides that page, not this API."),
    /** For a person to compare with the page (RFC 8628, 3.3.1). */
    user_code: z
      .string()
      .optional()
      .describe("Shown by the program and by the page, for the person to compare. It is not a credential."),
  })
  .meta({ id: "LoginStarted" });

/** Body of `POST /v1/cli/login/poll`. */
export const loginPollSchema = z
  .object({
    exchange_id: text(LOGIN_ID_LENGTH),
    verifier: text(LOGIN_VERIFIER_LENGTH).describe("The verifier that the login was started with."),
  })
  .meta({ id: "LoginPoll" });
export type LoginPoll = z.output<typeof loginPollSchema>;

/** `interval` is the number of seconds to wait before the next poll; `token` comes once. */
export const loginPolledSchema = z
  .looseObject({
    status: z.enum(["pending", "slow_down", "complete"]),
    interval: z.int().optional(),
    token: z.string().optional(),
  })
  .meta({
    id: "LoginPolled",
    description: "interval: seconds to wait before the next poll. token: returned only once, with the status complete.",
  });

/** Body of `POST /v1/cli/login/exchange`. */
export const loginExchangeSchema = z
  .object({
    exchange_id: text(LOGIN_ID_LENGTH),
    code: text({ minimum: 1, maximum: 256 }).describe("The code with which the browser opened callback_url."),
    verifier: text(LOGIN_VERIFIER_LENGTH).describe("The verifier that the login was started with."),
  })
  .meta({ id: "LoginExchange" });
export type LoginExchange = z.output<typeof loginExchangeSchema>;

export const loginTokenSchema = z.looseObject({ token: z.string() }).meta({ id: "LoginToken" });

/** Body of `POST /v1/cli/login/decide`: a signed-in person approves or denies a pending login. */
export const loginDecisionSchema = z
  .object({
    exchange_id: text(LOGIN_ID_LENGTH),
    decision: z.enum(["approve", "deny"]),
    delivery: z
      .enum(["redirect", "poll"])
      .nullish()
      .describe(
        "How the program may get the token. redirect: only with the code in redirect_url, which the person's browser sends to a program on the same computer. poll: only by polling, on whatever computer the program runs. Omitted: in either way. A page on which a person decides sends redirect, unless the person says that the program runs on another computer.",
      ),
  })
  .meta({ id: "LoginDecision" });
export type LoginDecision = z.output<typeof loginDecisionSchema>;

/** `redirect_url` is the program's callback, with the code if the login was approved. */
export const loginDecidedSchema = z
  .looseObject({
    status: z.enum(["approved", "denied"]),
    redirect_url: z
      .string()
      .describe(
        "URL that the person's browser opens next: callback_url with exchange_id and either code or error=access_denied.",
      ),
  })
  .meta({ id: "LoginDecided" });
export type LoginDecided = z.output<typeof loginDecidedSchema>;

export const sessionViewSchema = z
  .looseObject({
    authenticated: z.boolean(),
    active_organization: z
      .looseObject({ id: z.string(), name: z.string(), role: z.string() })
      .describe("The organization of the credential. role: admin is unrestricted, member is restricted to its scopes."),
    /** The credential of the request, which our service always sends. `scopes` is null for one that may do everything. */
    credential: z
      .looseObject({
        id: z.string(),
        type: z.string(),
        /** The key itself, or the key that created the session or approved its login. */
        api_key_id: z.string().optional(),
        scopes: z.array(z.string()).nullish(),
        expires_at: z.string().nullish(),
      })
      .optional()
      .describe(
        "Credential of the request. type: api_key or session. api_key_id: the key itself, or the key with which the session was created. scopes: null if unrestricted. expires_at: null if it works until it is revoked.",
      ),
  })
  .meta({ id: "SessionView" });

const operation = operationsOf("customer-auth");

export const startLogin = operation("POST", "/v1/cli/login/start", {
  summary: "Start a login of a command line",
  does: "Step 1 of a login, called by the program that wants a session. A login that is not completed within 10 minutes expires.",
  answers: {
    200: "The login waits for a decision.",
    422: "An input is invalid; callback_url must be a loopback address.",
  },
  scopes: "public",
  request: loginStartSchema,
  bodyBytes: BODY_BYTES.login,
  response: loginStartedSchema,
});

export const pollLogin = operation("POST", "/v1/cli/login/poll", {
  summary: "Ask whether a login was approved",
  does: "Step 4 of a login, called by the program every 5 seconds if no browser can reach its callback_url. A program that polls more often is answered slow_down.",
  answers: {
    200: "pending or slow_down: wait interval seconds before the next poll. complete: token is the session token; it is returned only once.",
    401: "The login does not exist, the verifier does not match, or the login was denied, has expired or was used.",
  },
  scopes: "public",
  request: loginPollSchema,
  bodyBytes: BODY_BYTES.login,
  response: loginPolledSchema,
});

export const exchangeLogin = operation("POST", "/v1/cli/login/exchange", {
  summary: "Exchange the code of an approved login for a session token",
  does: "Step 4 of a login, called by the program with the code that the browser sent to its callback_url.",
  answers: {
    200: "The session token; it is returned only once.",
    401: "The login does not exist, the verifier or the code does not match, or the login was denied, has expired or was used.",
  },
  scopes: "public",
  request: loginExchangeSchema,
  bodyBytes: BODY_BYTES.login,
  response: loginTokenSchema,
});

export const decideLogin = operation("POST", "/v1/cli/login/decide", {
  summary: "Approve or deny a login",
  does: "Step 3 of a login, called by the page on which a person approves it, or by hand; never by the program that logs in. Needs an unrestricted credential: a session, or a key without scopes.",
  answers: {
    200: "The decision is recorded. The person's browser must go to redirect_url, which contains the code if the login was approved.",
    403: "The credential is a key with scopes; it cannot approve a session, which is unrestricted.",
    409: "The login has already been approved or denied.",
    422: "An input is invalid, or no such login is pending.",
  },
  scopes: "any",
  request: loginDecisionSchema,
  bodyBytes: BODY_BYTES.login,
  response: loginDecidedSchema,
});

export const endSession = operation("DELETE", "/v1/cli/session", {
  summary: "End the session the request is sent with",
  does: "Logs out: the token of this request stops working.",
  answers: {
    200: "The session has ended.",
    403: "The credential is an API key. To end a key, revoke it.",
  },
  scopes: "any",
  response: z.looseObject({ id: z.string(), revoked_at: z.string() }).meta({ id: "SessionEnded" }),
});

export const getSession = operation("GET", "/v1/me/session", {
  summary: "Describe the credential of the request",
  does: "Describes the credential of this request: its organization, its scopes and its expiry.",
  answers: { 200: "The credential works." },
  scopes: "any",
  response: sessionViewSchema,
});
