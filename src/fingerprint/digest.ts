import { sha256Hex } from "../platform/crypto.ts";

/**
 * The configuration digest: SHA-256 over each file's lower-case hex SHA-256 and one line feed, in manifest order.
 *
 * The line feeds frame the files, so moving a line from the end of one file to the start of the next changes the digest.
 * No files give the SHA-256 of nothing. The same by hand: `sha256sum A B C | cut -c1-64 | sha256sum`.
 *
 * @param sha256s 64 lower-case hex digits per file.
 * @returns `sha256:` and 64 lower-case hex digits, the format of `configuration_digest` in the API.
 */
export function configurationDigest(sha256s: readonly string[]): string {
  return `sha256:${sha256Hex(hashedText(sha256s))}`;
}

/** The text whose SHA-256 is the digest. */
export function hashedText(sha256s: readonly string[]): string {
  return sha256s.map((sha256) => `${sha256}\n`).join("");
}
