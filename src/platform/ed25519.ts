/**
 * Ed25519 keys and signatures (RFC 8032). Keys are made of a seed, so that a simulated machine makes the same ones again. Loads node:crypto
 * at the first use.
 */
import { nodeCrypto } from "./crypto.ts";

export interface SigningKey {
  /** The raw 32 bytes in base64url, without padding. */
  readonly publicKey: string;
  /** The signature of an ASCII text, the raw 64 bytes in base64url. */
  sign(text: string): string;
}

export const SEED_BYTES = 32;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** A private key in PKCS #8 (RFC 8410 section 7) up to the seed. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** @param seed 32 unpredictable bytes. */
export function signingKey(seed: Uint8Array): SigningKey {
  const { createPrivateKey, sign } = nodeCrypto();
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: "der", type: "pkcs8" });
  const { x: publicKey = "" } = key.export({ format: "jwk" });
  return { publicKey, sign: (text) => sign(null, Buffer.from(text), key).toString("base64url") };
}

/** As `ssh-keygen -l` shows keys: `SHA256:` and the unpadded base64 of the hash of the raw key. */
export function keyFingerprint(publicKey: string): string {
  const digest = nodeCrypto().createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("base64");
  return `SHA256:${digest.replace(/=+$/, "")}`;
}

/** A public key without padding, as `SigningKey` has it; null if the text is none. */
export function readPublicKey(text: string): string | null {
  return decode(text, KEY_BYTES)?.toString("base64url") ?? null;
}

/**
 * Whether the signature of the text is by this key.
 *
 * @param publicKey as `readPublicKey` returns it.
 */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  const bytes = decode(signature, SIGNATURE_BYTES);
  if (bytes === null) return false;
  try {
    const key = { kty: "OKP", crv: "Ed25519", x: publicKey };
    return nodeCrypto().verify(null, Buffer.from(text), { key, format: "jwk" }, bytes);
  } catch {
    // 32 bytes that are no point of the curve.
    return false;
  }
}

/** The bytes of a base64url text (RFC 4648, 5), with or without padding; null if it is anything else or has another length. */
function decode(text: string, length: number): Buffer | null {
  const bare = text.replace(/={1,2}$/, "");
  const bytes = Buffer.from(bare, "base64url");
  const isWhole = text === bare || text.length % 4 === 0;
  // Also refuses letters of other alphabets, and trailing bits that are not zero.
  return isWhole && bytes.length === length && bytes.toString("base64url") === bare ? bytes : null;
}
