import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

import type { Random } from "../../platform/random.ts";

/** Every key of this service begins so; scanners of public code find a leaked one by it. */
export const API_KEY_PREFIX = "sk_rps_";
export const API_KEY_LAST_LENGTH = 4;

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_BYTES = 16;
/** 62²² > 2¹²⁸. */
const SECRET_LENGTH = 22;
/** 62⁶ > 2³². */
const CHECKSUM_LENGTH = 6;
const API_KEY = new RegExp(`^${API_KEY_PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

/** A new key: `sk_rps_`, 128 random bits and their checksum, 35 characters in all. */
export function createApiKey(random: Random): string {
  const secret = base62(BigInt(`0x${Buffer.from(random.bytes(SECRET_BYTES)).toString("hex")}`), SECRET_LENGTH);
  return API_KEY_PREFIX + secret + checksum(secret);
}

/** Whether the text can be a key at all: a typo is told without asking the store. Says nothing about whether it is valid. */
export function isApiKey(text: string): boolean {
  if (!API_KEY.test(text)) return false;
  const secret = text.slice(API_KEY_PREFIX.length, -CHECKSUM_LENGTH);
  return text.endsWith(checksum(secret));
}

/** What the store keeps of a key. Unsalted is enough: 128 random bits are in no table. */
export function hashApiKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function checksum(secret: string): string {
  return base62(BigInt(crc32(API_KEY_PREFIX + secret)), CHECKSUM_LENGTH);
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let text = "";
  for (let count = 0; count < length; count += 1) {
    text = ALPHABET.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
