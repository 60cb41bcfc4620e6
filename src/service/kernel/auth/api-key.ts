import type { Random } from "../../../platform/random.ts";
import { createToken, hashSecret, isToken } from "./token.ts";

/** Prefix of API keys; secret scanners find leaked keys by it. */
export const API_KEY_PREFIX = "sk_rps_";
export const API_KEY_LAST_LENGTH = 4;

/** A new key: `sk_rps_`, 128 random bits and their checksum, 35 characters in all. */
export function createApiKey(random: Random): string {
  return createToken(API_KEY_PREFIX, random);
}

/** Whether shape and checksum of the text are those of an API key. */
export function isApiKey(text: string): boolean {
  return isToken(API_KEY_PREFIX, text);
}

/** The hash of a key, which the store keeps instead of it. */
export function hashApiKey(key: string): string {
  return hashSecret(key);
}
