import { PAGE_LIMIT } from "../../api/wire/pages.ts";
import { API_KEY_SCOPES } from "../../api/wire/scopes.ts";
import { SESSION_LIFETIME_MS } from "../kernel/auth/session-token.ts";
import { BODY_VALUES_MAXIMUM } from "../kernel/http/body.ts";
import { FINDINGS_MAXIMUM } from "../kernel/validation/check.ts";
import { LOGIN_LIFETIME_MS, POLL_INTERVAL_S } from "../logins/rules.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** What holds for all operations, in CommonMark, which the OpenAPI Specification has descriptions written in. */
export const OVERVIEW = `Robot inventory, the model catalog, deployments, fleets, API keys and hosted usage. Operations marked \`x-beyond-spec\` are this implementation's own.

## Credentials

Every request carries \`Authorization: Bearer <credential>\`: an API key, or the token of a session that a login gave. A session may do everything, as may a key without scopes. A key with scopes may do what its scopes name: ${API_KEY_SCOPES.map((scope) => `\`${scope}\``).join(", ")}.

\`x-scope\` says what an operation needs: a list of scopes, of which one will do; \`any\`, for which every credential that works will do unless the operation says otherwise; or \`public\`, which needs no credential.

## Requests

A body is JSON in UTF-8 and says so: \`Content-Type: application/json\` (or a type that ends in \`+json\`). Under any other type, such as the one that \`curl --data\` sends, or none, it counts as a text, and the answer is 422 with \`loc\` \`["body"]\` and \`msg\` "Input should be a valid dictionary or object to extract fields from". A body is at most as large as its operation says, and has at most ${BODY_VALUES_MAXIMUM} JSON values: objects, arrays, texts, numbers and constants, whatever holds them. Unknown query parameters are ignored.

Moments are ISO 8601 in UTC with milliseconds, such as \`2026-05-04T03:02:01.000Z\`.

## Refusals

Most refusals have \`detail\`, one sentence for a person, the same again as \`message\`, and \`code\` for programs. What is wrong with an input is answered 422, which has a list:

\`\`\`json
{"detail": [{"type": "missing", "loc": ["body", "name"], "msg": "Field required", "input": {}}]}
\`\`\`

\`loc\` leads to the input: first \`body\` or \`query\`, then names of members and indexes of items. The list has ${FINDINGS_MAXIMUM} findings at most, and nothing was changed.

## Lists

Without query parameters a list is everything, oldest first. With \`limit\` (${PAGE_LIMIT.minimum} to ${PAGE_LIMIT.maximum}) it comes in pages: while there is more, the \`Link\` header names the address of the next page, \`rel="next"\` (RFC 8288), with a \`cursor\` that only the service can read. The list of models has no pages.

## Rate limits

Requests count for their credential; those without one that works count for the client's address. \`RateLimit-Policy: "credential";q=10000;w=100\` says that 10000 requests may come at once, and that those are there again after 100 seconds; \`RateLimit: "credential";r=9999;t=1\` says how many are left, and in how many seconds all are there again. Beyond that the answer is 429, with \`Retry-After\` in seconds. Numbers differ from service to service, and a service may run without limits and without these headers.

## Repeating a request

A change that was answered 200 is on the disk. A client that lost an answer may send the same request again: registering a robot replaces the registration of that name, deploying what a robot already runs and choosing a model that a fleet already has change nothing, nor do revoking and retiring once more. Creating a fleet again is answered 409, because the name is taken; creating an API key again creates another key. After 429 and 503 the same request may succeed later.

## Logging in a command line

1. The program makes a secret, the verifier, and opens a port on its own computer. It calls \`POST /v1/cli/login/start\` with the verifier and the address of that port, and is given \`exchange_id\`, \`login_url\` and \`user_code\`.
2. The program shows \`user_code\` and has a person open \`login_url\` at the site that approves logins. That page belongs to the site: this service answers \`/v1\` alone, and where there is no page, whoever holds a key sends the next request by hand.
3. The page, which knows a credential that may do everything (a session, or a key without scopes: one with scopes is answered 403), calls \`POST /v1/cli/login/decide\` with \`exchange_id\` and \`approve\` or \`deny\`, and \`delivery\`: \`redirect\` for a program on the person's own computer, so that nobody who started the login elsewhere is given the token; \`poll\` where the person says that it runs on another computer and shows the same \`user_code\`. It sends the browser on to the \`redirect_url\` of the answer: the program's own address with \`exchange_id\` and either \`code\` or \`error=access_denied\`.
4. The program calls \`POST /v1/cli/login/exchange\` with that code and its verifier, and is given the token. Where no browser can reach it, it calls \`POST /v1/cli/login/poll\` every ${POLL_INTERVAL_S} seconds instead, until the status is \`complete\`.

All of it within ${LOGIN_LIFETIME_MS / 60_000} minutes. The token is given once, by whichever of the two comes first, and works for ${SESSION_LIFETIME_MS / DAY_MS} days, but no longer than the key that approved it. \`DELETE /v1/cli/session\` logs out.`;
