import type { FastifyInstance } from "fastify";
import * as z from "zod";

import { BODY_BYTES } from "../../api/wire/body-bytes.ts";
import { text } from "../../api/wire/text.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import {
  type Answer,
  answerJson,
  answerSession,
  arrivalOf,
  audit,
  authenticate,
  authorship,
  CONSOLE_TOKEN_PREFIX,
  createToken,
  dropConsoleCookie,
  endSession,
  hashSecret,
  isForOnePurpose,
  isFromConsole,
  keepConsoleCookie,
  type MountContext,
  readRequest,
  refuse,
  route,
  signIn,
} from "../../service/console-door.ts";
import { SESSION_PATH } from "./console-paths.ts";

const signInSchema = z.object({ api_key: text({ minimum: 1, maximum: 256 }) });
const SIGN_IN = { method: "POST", path: SESSION_PATH, scopes: "public", bodyBytes: BODY_BYTES.login } as const;

/**
 * `POST /console/session` {api_key}: creates a session and sets it as an HttpOnly cookie; the key itself is not stored.
 * `DELETE /console/session` ends it. Both refuse requests from other sites, which could otherwise sign a person in as somebody else.
 */
export function mountSessions(app: FastifyInstance, context: MountContext): void {
  const { store, machine, newId, lastUsed } = context;

  route(app, context, SIGN_IN, async (request) => {
    if (!isFromConsole(request)) return refuseForeign();
    const body = readRequest({ request: signInSchema }, request);
    if (body.state === "refused") return body.answer;
    // Copying a key often adds a line break.
    const token = body.value.api_key.trim();
    const authentication = await authenticate(store.lookup, machine.clock, { kind: "bearer", token });
    if (authentication.state === "unauthorized" || authentication.principal.credential !== "api_key") {
      return refuse(
        "Unauthorized",
        authentication.state === "unauthorized" ? authentication.detail : "Invalid API key",
      );
    }
    const { principal } = authentication;
    lastUsed.note(principal);
    if (isForOnePurpose(principal)) return refuse("Forbidden", "A key for enrolments cannot sign in to the console");
    const nowMs = machine.clock.wallMs();
    const author = authorship({ principal, requestId: request.id }, newId, isoTime(nowMs));
    const sessionToken = createToken(CONSOLE_TOKEN_PREFIX, machine.random);
    const session = { id: newId("ses"), token_sha256: hashSecret(sessionToken) };
    const expiresAt = await store.write((transaction) => signIn(transaction, principal, session, author));
    if (expiresAt === null) return refuse("Unauthorized", "The API key ended while the request was under way");
    const own = { ...principal, credential: "session", credentialId: session.id, expiresAt } as const;
    const maxAgeS = Math.floor((Date.parse(expiresAt) - nowMs) / 1000);
    return withCookie(await answerSession(store, own), keepConsoleCookie(request, sessionToken, maxAgeS));
  });

  route(app, context, { method: "DELETE", path: SESSION_PATH, scopes: "public" }, async (request) => {
    if (!isFromConsole(request)) return refuseForeign();
    const { credential } = arrivalOf(request);
    if (credential?.kind === "console") {
      const authentication = await authenticate(store.lookup, machine.clock, credential);
      if (authentication.state === "authenticated") {
        const { principal } = authentication;
        const { organizationId, credentialId: id } = principal;
        const at = isoNow(machine.clock);
        const author = authorship({ principal, requestId: request.id }, newId, at);
        await store.write(async (transaction) => {
          if (!(await endSession(transaction, organizationId, id, at))) return;
          await audit(transaction, author, { action: "session.end", subjectId: id, details: {} });
        });
      }
    }
    // Idempotent: the browser drops the cookie even if its session has ended already.
    return withCookie(answerJson('{"authenticated":false}'), dropConsoleCookie(request));
  });
}

function withCookie(answer: Answer, cookie: string): Answer {
  return { ...answer, headers: { ...answer.headers, "set-cookie": cookie, "cache-control": "no-store" } };
}

function refuseForeign(): Answer {
  return refuse(
    "Forbidden",
    "Only the console's own page signs in and out; programs send an API key with each request",
  );
}
