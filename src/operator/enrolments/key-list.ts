import { keyOn } from "../../api/words/allowed-keys.ts";
import type { Finding } from "../../manifest/finding.ts";
import type { OperatorContext } from "../context.ts";
import type { Loc } from "../files/places.ts";
import { readGiven } from "../files/read-given.ts";
import type { Unusable } from "../files/written-file.ts";
import { refuseFile, unreadable } from "../files/written-file.ts";

const LIMIT_BYTES = 2 * 1024 * 1024;
/** Shown at once; a file of another kind would be nothing but findings. */
const FINDINGS_MAXIMUM = 20;
/** A raw Ed25519 key in base64url, or the fingerprint of one. */
const KEY = /^(?:[A-Za-z0-9_-]{43}=?|SHA256:[A-Za-z0-9+/]{43})$/;

interface KeyList {
  readonly kind: "keys";
  readonly keys: readonly string[];
  /** Where the key at a `loc` of a request stands, whose first key is that at `from`. */
  places(loc: Loc, from: number): string | null;
}

/** Reads public keys or fingerprints, one per line; `#` begins a comment. Reports all findings, each at file:line:column. */
export async function readKeyList(
  path: string,
  maximum: number,
  json: boolean,
  context: Pick<OperatorContext, "terminal" | "machine" | "readInput">,
): Promise<KeyList | Unusable> {
  const name = path === "-" ? "<stdin>" : path;
  const bytes = await readGiven(path, LIMIT_BYTES, context);
  const refuse = (findings: readonly Finding[]) =>
    refuseFile(findings, { name, bytes: "code" in bytes ? null : bytes, json }, context);
  if ("code" in bytes) return refuse([unreadable(bytes, LIMIT_BYTES)]);
  const findings: Finding[] = [];
  const found: { readonly key: string; readonly line: number; readonly column: number }[] = [];
  for (const [index, text] of new TextDecoder().decode(bytes).split("\n").entries()) {
    const key = keyOn(text);
    if (key === "") continue;
    const place = { line: index + 1, column: text.indexOf(key) + 1 };
    if (KEY.test(key)) found.push({ key, ...place });
    else findings.push(finding("key", NO_KEY, place));
    if (findings.length === FINDINGS_MAXIMUM) break;
  }
  const beyond = found[maximum];
  if (beyond !== undefined) findings.push(finding("too_many", `a list has at most ${maximum} keys`, beyond));
  if (found.length === 0 && findings.length === 0)
    findings.push(finding("empty", "there is no key in the file", FIRST));
  if (findings.length > 0) return refuse(findings);
  return {
    kind: "keys",
    keys: found.map(({ key }) => key),
    places(loc, from) {
      const [, member, index] = loc;
      const place = member === "keys" && typeof index === "number" ? found[from + index] : undefined;
      if (place === undefined) return member === "expires_at" ? "--expires" : null;
      return `${name}:${place.line}:${place.column}`;
    },
  };
}

const FIRST = { line: 1, column: 1 };
const NO_KEY = "neither a public key (43 characters of base64url) nor a fingerprint (SHA256: and 43 characters)";

function finding(
  id: string,
  message: string,
  { line, column }: { readonly line: number; readonly column: number },
): Finding {
  return { id, severity: "error", loc: "", message, line, column };
}
