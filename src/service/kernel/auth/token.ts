import { hash, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

import type { Random } from "../../../platform/random.ts";

/** Prefixes of bearer tokens, by which secret scanners find leaked ones. */
export const API_KEY_PREFIX = "sk_rps_";
export const ROBOT_TOKEN_PREFIX = "rps_robot_";
export const SESSION_TOKEN_PREFIX = "rps_session_";
/** Tokens of the console are not valid for the command line, nor the other way round. */
export const CONSOLE_TOKEN_PREFIX = "rps_console_";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_BYTES = 16;
/** 62²² > 2¹²⁸. */
const SECRET_LENGTH = 22;
/** 62⁶ > 2³². */
const CHECKSUM_LENGTH = 6;
const BODY = new RegExp(`^[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

/** A new bearer token: the prefix, 128 random bits, and a checksum over both. */
export function createToken(prefix: string, random: Random): string {
  const secret = base62(BigInt(`0x${Buffer.from(random.bytes(SECRET_BYTES)).toString("hex")}`), SECRET_LENGTH);
  return prefix + secret + checksum(prefix, secret);
}

/** Whether shape and checksum are those of a token, to detect typos without a query. Does not say whether the token is valid. */
export function isToken(prefix: string, text: string): boolean {
  if (!text.startsWith(prefix)) return false;
  const body = text.slice(prefix.length);
  return BODY.test(body) && body.endsWith(checksum(prefix, body.slice(0, SECRET_LENGTH)));
}

/** The lowercase hex SHA-256 of a secret, which the store keeps instead of it. Needs no salt: no table covers 128 random bits. */
export function hashSecret(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** Compares hashes in constant time. */
export function isSameHash(stored: string, computed: string): boolean {
  const [left, right] = [Buffer.from(stored), Buffer.from(computed)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function checksum(prefix: string, secret: string): string {
  return base62(BigInt(crc32(prefix + secret)), CHECKSUM_LENGTH);
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
