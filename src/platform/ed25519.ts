/** Ed25519 keys (RFC 8032), made of a seed so that a simulated machine makes the same ones again. Loads node:crypto at the first use. */
import { nodeCrypto } from "./crypto.ts";

export interface SigningKey {
  /** The raw 32 bytes in base64url, without padding. */
  readonly publicKey: string;
  /** The signature of an ASCII text, the raw 64 bytes in base64url. */
  sign(text: string): string;
}

export const SEED_BYTES = 32;

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
