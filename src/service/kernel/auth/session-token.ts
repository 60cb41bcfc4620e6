import type { Random } from "../../../platform/random.ts";
import { createToken, isToken } from "./token.ts";

/** Prefix of session tokens; secret scanners find leaked tokens by it. */
export const SESSION_TOKEN_PREFIX = "rps_session_";

/** How long a session of the command line lasts. */
export const SESSION_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

/** A new session token: `rps_session_`, 128 random bits and their checksum. */
export function createSessionToken(random: Random): string {
  return createToken(SESSION_TOKEN_PREFIX, random);
}

/** Whether shape and checksum of the text are those of a session token. */
export function isSessionToken(text: string): boolean {
  return isToken(SESSION_TOKEN_PREFIX, text);
}
