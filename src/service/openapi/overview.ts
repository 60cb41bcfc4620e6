import { PAGE_LIMIT } from "../../api/wire/pages.ts";
import { API_KEY_SCOPES, ENROLL_SCOPE, ROBOT_SCOPE } from "../../api/wire/scopes.ts";
import { POLL_INTERVAL_S as ENROLMENT_POLL_S } from "../identity/start.ts";
import { SESSION_LIFETIME_MS } from "../kernel/auth/session-queries.ts";
import { BODY_VALUES_MAXIMUM } from "../kernel/http/body.ts";
import { FINDINGS_MAXIMUM } from "../kernel/validation/check.ts";
import { LOGIN_LIFETIME_MS, POLL_INTERVAL_S } from "../logins/logins.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** What applies to all operations, in CommonMark, the format of descriptions in the OpenAPI Specification. */
export const OVERVIEW = `Robot inventory, the model catalog, deployments, fleets, API keys and hosted usage. Operations marked \`x-beyond-spec\` are additions of this implementation.

## Credentials

Every request carries \`Authorization: Bearer <credential>\`: an API key, or the session token that a login returned. A session and a key without scopes are unrestricted. A key with scopes may do only what its scopes allow: ${API_KEY_SCOPES.map((scope) => `\`${scope}\``).join(", ")}.

\`x-scope\` says what an operation needs: a list of scopes, of which one is enough; \`any\`, any working credential, unless the operation says otherwise; \`public\`, no credential; or \`signed\`, no credential but a signature.

## Requests

A body is JSON in UTF-8, sent with \`Content-Type: application/json\` (or a type that ends in \`+json\`). With any other type, such as the default of \`curl --data\`, or with none, the body is treated as plain text, and the answer is 422 with \`loc\` \`["body"]\` and \`msg\` "Input should be a valid dictionary or object to extract fields from". Each operation states the maximum size of its body. A body has at most ${BODY_VALUES_MAXIMUM} JSON values: objects, arrays, strings, numbers and literals, counted at every depth. Unknown query parameters are ignored.

Timestamps are ISO 8601 in UTC with milliseconds, such as \`2026-05-04T03:02:01.000Z\`.

## Refusals

Most refusals have \`detail\`, one sentence for a person, the same sentence as \`message\`, and \`code\` for programs. An invalid input is answered 422 with a list in \`detail\`:

\`\`\`json
{"detail": [{"type": "missing", "loc": ["body", "name"], "msg": "Field required", "input": {}}]}
\`\`\`

\`loc\` is the path to the input: first \`body\` or \`query\`, then names of members and indexes of items. The list has at most ${FINDINGS_MAXIMUM} findings. A request that is answered 422 changes nothing.

## Lists

Without query parameters a list is complete, oldest first. With \`limit\` (${PAGE_LIMIT.minimum} to ${PAGE_LIMIT.maximum}) it is paged: while there are more items, the \`Link\` header contains the URL of the next page, \`rel="next"\` (RFC 8288), with an opaque \`cursor\`. The list of models has no pages.

## Rate limits

Requests are counted per credential and per organization, and per client address if they have no working credential. \`RateLimit-Policy: "credential";q=10000;w=100\` means that the quota is 10000 requests and that an empty quota is full again after 100 seconds; \`RateLimit: "credential";r=9999;t=1\` gives the remaining requests and the seconds until the quota is full. Beyond the quota the answer is 429, with \`Retry-After\` in seconds. The numbers depend on the configuration of the service, which may also have no rate limits and send no such headers.

## Repeating a request

A change that was answered 200 is on the disk. A client that lost an answer may send the same request again: registering a robot replaces its registration; deploying a model that the robot already runs, updating a fleet to the model it already has, and revoking or retiring again change nothing. Creating a fleet again is answered 409, because the name is taken; creating an API key again creates another key. After 429 and 503 the same request may succeed later.

## Enrolling a robot computer

1. The computer makes an Ed25519 key, keeps it, and calls \`POST /v1/robot-agent/enrollment\` with the public key. It shows \`user_code\` and the fingerprint of the key, and keeps \`poll_token\`.
2. Somebody with the scope \`robots:write\` looks the code up (\`GET /v1/robot-enrollments/{user_code}\`), compares the fingerprint, and calls \`POST /v1/robots/approve\`. A computer that starts with a key for enrolments, as a new robot, is approved at once.
3. The computer calls \`POST /v1/robot-agent/enrollment/poll\` every ${ENROLMENT_POLL_S} seconds, with a signature of its key, until the status is \`approved\`. That answer has the credential of its robot. It saves the credential before it uses it: the first use ends the enrolment, and until then a poll has a fresh value.
4. It reports with \`PUT /v1/robot-agent/heartbeat\` and renews with \`POST /v1/robot-agent/credential/renew\`, after as many seconds as the last answer said.

Refusals of these operations have \`reason\` beside \`code\` where a program can act on it. The credential of a robot, scope \`${ROBOT_SCOPE}\`, is good for that robot alone. A key for enrolments is created with \`enrollment\`, and has the scope \`${ENROLL_SCOPE}\` alone, which no other credential has.

## Logging in a command line

1. The program generates a secret, the verifier, and listens on a loopback port. It calls \`POST /v1/cli/login/start\` with the verifier and the URL of that port, and receives \`exchange_id\`, \`login_url\` and \`user_code\`.
2. The program shows \`user_code\` and asks the person to open \`login_url\` at the site that approves logins. That page belongs to the site and is no part of \`/v1\`. Without such a page, somebody who has a key sends the next request by hand.
3. The page has an unrestricted credential (a session, or a key without scopes; a key with scopes is answered 403). It calls \`POST /v1/cli/login/decide\` with \`exchange_id\`, \`approve\` or \`deny\`, and \`delivery\`: \`redirect\` for a program on the person's own computer, so that somebody who started the login on another computer cannot get the token; \`poll\` if the person says that the program runs on another computer and shows the same \`user_code\`. The page then redirects the browser to the \`redirect_url\` of the answer: the program's \`callback_url\` with \`exchange_id\` and either \`code\` or \`error=access_denied\`.
4. The program calls \`POST /v1/cli/login/exchange\` with that code and its verifier, and receives the token. If no browser can reach it, it calls \`POST /v1/cli/login/poll\` every ${POLL_INTERVAL_S} seconds instead, until the status is \`complete\`.

The whole login must complete within ${LOGIN_LIFETIME_MS / 60_000} minutes. The token is returned once, by exchange or by poll, whichever comes first. It works for ${SESSION_LIFETIME_MS / DAY_MS} days, but no longer than the key that approved it. \`DELETE /v1/cli/session\` logs out.`;
