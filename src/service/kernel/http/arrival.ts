import type { FastifyRequest } from "fastify";

import { bearerToken } from "../auth/authenticate.ts";
import type { Credential } from "../auth/authenticate.ts";
import { clientAddress } from "./client-address.ts";
import { readConsoleCookie } from "./console-cookie.ts";
import { isFromConsole, isSameOrigin } from "./same-origin.ts";

/** What the headers of a request say about its client. */
export interface Arrival {
  readonly credential: Credential | null;
  /** Address of the client; behind a trusted proxy, the one it names. */
  readonly address: string;
}

/**
 * The credential of a request. Browsers send cookies also with requests that other sites cause, so the cookie counts only for requests of
 * the console's own page, and only without an `Authorization` header.
 */
export function arrivalOf(request: FastifyRequest): Arrival {
  return { credential: credentialOf(request, isFromConsole), address: clientAddress(request) };
}

/**
 * As `arrivalOf`, for an EventSource, which cannot send the console's own header. Other sites cannot read the events, because the answer
 * allows no other origin to.
 */
export function listenerArrivalOf(request: FastifyRequest): Arrival {
  return { credential: credentialOf(request, isSameOrigin), address: clientAddress(request) };
}

function credentialOf(request: FastifyRequest, isOwnPage: (request: FastifyRequest) => boolean): Credential | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const token = bearerToken(authorization);
    return token === null ? null : { kind: "bearer", token };
  }
  const token = readConsoleCookie(request);
  return token !== null && isOwnPage(request) ? { kind: "console", token } : null;
}
