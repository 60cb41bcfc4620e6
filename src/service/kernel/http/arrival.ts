import type { FastifyRequest } from "fastify";

import { bearerToken } from "../auth/authenticate.ts";
import type { Credential } from "../auth/authenticate.ts";
import { clientAddress } from "./client-address.ts";
import { readConsoleCookie } from "./console-cookie.ts";
import { isFromConsole, isSameOrigin } from "./same-origin.ts";

/** Who stands before the gate, as far as the head of a request tells. */
export interface Arrival {
  readonly credential: Credential | null;
  /** Address of the client; behind a trusted proxy, the one it names. */
  readonly address: string;
}

/**
 * What a request authenticates itself with. A cookie comes along whoever has the browser ask, so it counts only where the console's own
 * page asked; a request with an `Authorization` of its own has no need of it.
 */
export function arrivalOf(request: FastifyRequest): Arrival {
  return { credential: credentialOf(request, isFromConsole), address: clientAddress(request) };
}

/**
 * As `arrivalOf`, for a page that listens: an EventSource sends no headers of its own. What it hears stays with its own page, because
 * the answer allows no other origin to read it.
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
