import type { Random } from "../../../platform/random.ts";
import { createToken, hashSecret, isToken } from "./token.ts";

/** Every key of this service begins so; scanners of public code find a leaked one by it. */
export const API_KEY_PREFIX = "sk_rps_";
export const API_KEY_LAST_LENGTH = 4;

/** A new key: `sk_rps_`, 128 random bits and their checksum, 35 characters in all. */
export function createApiKey(random: Random): string {
  return createToken(API_KEY_PREFIX, random);
}

/** Whether the text can be a key at all, by its shape and checksum. */
export function isApiKey(text: string): boolean {
  return isToken(API_KEY_PREFIX, text);
}

/** What the store keeps of a key. */
export function hashApiKey(key: string): string {
  return hashSecret(key);
}
