/**
 * Hashes and random bytes of node:crypto, which is loaded at its first use: loading takes 6 ms, a tenth of an unchanged boot, and nothing
 * before READY=1 needs it.
 */
import type * as crypto from "node:crypto";

export function createSha256(): crypto.Hash {
  return nodeCrypto().createHash("sha256");
}

/** In lower-case hex. */
export function sha256Hex(data: string | Uint8Array): string {
  return nodeCrypto().hash("sha256", data);
}

/** In lower-case hex. */
export function hmacSha256Hex(key: Uint8Array, data: string): string {
  return nodeCrypto().createHmac("sha256", key).update(data).digest("hex");
}

export function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  return nodeCrypto().randomBytes(count);
}

/** Loaded at the first call. */
export function nodeCrypto(): typeof crypto {
  return process.getBuiltinModule("node:crypto");
}
