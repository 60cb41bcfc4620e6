import { shellWord } from "../platform/text/shell-word.ts";
import { Secret } from "./secret.ts";

export interface Credential {
  readonly kind: "credential";
  readonly secret: Secret;
  readonly source: CredentialSource;
  /** The file it was read from, or the name of the variable. */
  readonly where: string;
}

/** `enrolment`: the robot's own, beside the API keys. */
export type CredentialSource = "systemd" | "key-file" | "environment" | "enrolment";

/** Says which key it is, and where it lies. */
export function describeCredential({ source, where }: Pick<Credential, "source" | "where">): string {
  return source === "enrolment" ? `the robot's own credential in ${where}` : `the API key in ${where}`;
}

export type CredentialProblemCode =
  | "key-missing"
  | "key-unreadable"
  | "key-not-a-file"
  | "key-too-large"
  | "key-exposed"
  | "key-owner"
  | "key-empty"
  | "key-line-ending"
  | "key-several-lines"
  | "key-space"
  | "key-form"
  /** The robot's own credential must not be used now. */
  | "not-enrolled";

/** There is no usable key. The texts contain no part of it. */
export interface CredentialProblem {
  readonly kind: "credential-problem";
  readonly code: CredentialProblemCode;
  readonly what: string;
  readonly where: string;
  /** What to do, as a command where possible. */
  readonly fix: string;
}

/** The longest accepted key; it has to fit into a header. */
const KEY_LENGTH_LIMIT = 512;

/** `sk_<marker>_<key>` (service document, section 5), of the characters a bearer token may have (RFC 6750 section 2.1). */
const KEY_PATTERN = /^sk_[A-Za-z0-9]+_[A-Za-z0-9._~+/-]+=*$/;

/**
 * Parses a key.
 *
 * @param source `key-file` only for a file that a person may edit.
 */
export function parseKey(text: string, source: CredentialSource, where: string): Credential | CredentialProblem {
  const bad = (code: CredentialProblemCode, what: string, fix: string): CredentialProblem => {
    return { kind: "credential-problem", code, what, where, fix };
  };
  const rewrite = "write the key alone, on one line";
  // Editors and `echo` add one line feed.
  const key = text.replace(/\n$/, "");
  if (key.trim() === "") return bad("key-empty", "there is no key in it", rewrite);
  if (key.includes("\r")) {
    // A credential of systemd is a copy, and stdin is no file.
    const fix = source !== "key-file" ? rewrite : `sed -i 's/\\r//g' ${shellWord(where)}`;
    return bad("key-line-ending", "it has a Windows line ending after the key", fix);
  }
  if (key.includes("\n")) return bad("key-several-lines", "it has more than one line", rewrite);
  if (/\s/.test(key))
    return bad("key-space", "it has a space or an invisible character beside or inside the key", rewrite);
  if (key.length > KEY_LENGTH_LIMIT || !KEY_PATTERN.test(key)) {
    return bad(
      "key-form",
      "what is in it is not an API key",
      "a key begins with sk_ and has no spaces: copy it whole, and nothing else",
    );
  }
  return { kind: "credential", secret: new Secret(key), source, where };
}
