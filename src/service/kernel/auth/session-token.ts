import type { Random } from "../../../platform/random.ts";
import { createToken, isToken } from "./token.ts";

/** Tells a session token from an API key, and scanners of public code what it is. */
export const SESSION_TOKEN_PREFIX = "rps_session_";

/** How long a command line stays signed in. */
export const SESSION_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

/** A new session token: `rps_session_`, 128 random bits and their checksum. */
export function createSessionToken(random: Random): string {
  return createToken(SESSION_TOKEN_PREFIX, random);
}

/** Whether the text can be a session token at all, by its shape and checksum. */
export function isSessionToken(text: string): boolean {
  return isToken(SESSION_TOKEN_PREFIX, text);
}
