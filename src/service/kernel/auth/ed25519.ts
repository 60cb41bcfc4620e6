import { verify } from "node:crypto";

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** The bytes of a base64url text (RFC 4648, 5), with or without padding; null if it is anything else or has another length. */
function decode(text: string, length: number): Buffer | null {
  const bare = text.replace(/={1,2}$/, "");
  const bytes = Buffer.from(bare, "base64url");
  const isWhole = text === bare || text.length % 4 === 0;
  // Also refuses letters of other alphabets, and trailing bits that are not zero.
  return isWhole && bytes.length === length && bytes.toString("base64url") === bare ? bytes : null;
}

/** An Ed25519 public key in the spelling that the store has; null if the text is none. */
export function readPublicKey(text: string): string | null {
  return decode(text, KEY_BYTES)?.toString("base64url") ?? null;
}

/**
 * Whether the signature of the text is by this key: plain Ed25519 (RFC 8032).
 *
 * @param publicKey as `readPublicKey` returns it.
 */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  const bytes = decode(signature, SIGNATURE_BYTES);
  if (bytes === null) return false;
  try {
    const key = { kty: "OKP", crv: "Ed25519", x: publicKey };
    return verify(null, Buffer.from(text, "utf8"), { key, format: "jwk" }, bytes);
  } catch {
    // 32 bytes that are no point of the curve.
    return false;
  }
}
