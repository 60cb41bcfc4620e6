import { ALLOWED_KEYS_COUNT, ALLOWED_KEYS_MAXIMUM, type AllowedKeyView } from "../../api/allowed-keys.ts";
import { beyondSpec } from "../../api/api.ts";
import { allowedKeyState, keyOn } from "../../api/words/allowed-keys.ts";
import type { Finding } from "../../documents/findings.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { EXIT } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand, OperatorContext } from "../context.ts";
import type { Loc } from "../files/places.ts";
import { readGiven, refuseFile, shownPath, unreadable, type Unusable } from "../files/given-file.ts";
import type { ListView } from "../lists/columns.ts";
import { itemsIn } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { readMomentFlag } from "../moments.ts";
import { withService } from "../operator.ts";
import { refuseUnknown, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import { type Now, timeAgo, timeUntil } from "../times.ts";

const DEFAULT_EXPIRY = "30d";
const MISSING = ["has no list of allowed keys", "approve each code instead: robot-policy robots approve CODE"] as const;

/** `robots allow --keys FILE`: computers with these keys enroll without an approval, each once. */
export const robotsAllow: OperatorCommand = async (flags, context) => {
  const { terminal } = context;
  const { keys: path, expires = DEFAULT_EXPIRY } = flags;
  if (path === undefined)
    return refuseUsage("no keys are given", "give a file with a key per line: --keys FILE", terminal);
  const expiresAt = readMomentFlag("--expires", expires, context);
  if (expiresAt === null) return EXIT.usage;
  const list = await readKeyList(path, flags.json === true, context);
  if (list.kind === "unusable") return list.exitCode;
  const { keys, places } = list;
  return withService(flags, context, async (service) => {
    const size = ALLOWED_KEYS_COUNT.maximum;
    const bodyFrom = (from: number) => ({ keys: keys.slice(from, from + size), expires_at: expiresAt.iso });
    if (flags.dryRun === true) {
      const requests = Math.ceil(keys.length / size);
      if (requests > 1) terminal.note(`This is the first of ${requests} requests; each has ${size} keys at most.`);
      return service.showRequest(beyondSpec.allowKeys, { body: bodyFrom(0) });
    }
    let added = 0;
    for (let from = 0; from < keys.length; from += size) {
      const body = bodyFrom(from);
      const result = await service.call(beyondSpec.allowKeys, { body });
      if (result.kind !== "ok") {
        if (added > 0) terminal.note(`Allowed already: ${added}. The same command may be repeated.`);
        return service.failed(result, { body, places: (loc) => places(loc, from), missing: MISSING });
      }
      added += result.value.value.added;
    }
    return service.answer({ added, expires_at: expiresAt.iso }, () => {
      const what = added === 1 ? "The computer with this key enrolls" : `${added} computers with these keys enroll`;
      terminal.print(`${what} without an approval, once, until ${expiresAt.iso.slice(0, 10)}.`);
    });
  });
};

const allowedView: ListView<AllowedKeyView> = {
  headers: ["key", "state", "robot", "allowed by", "allowed", "expires", "id"],
  prose: ["robot", "allowed by"],
  spare: ["robot", "allowed by", "expires", "allowed", "id"],
  row: (entry, now) => [
    entry.key_fingerprint,
    stateOf(entry, now),
    entry.robot ?? "",
    entry.allowed_by.label ?? entry.allowed_by.id,
    timeAgo(entry.created_at, now),
    timeUntil(entry.expires_at, now),
    entry.id,
  ],
  id: ({ id }) => id,
  empty: "No keys are allowed. To allow the keys in a file: robot-policy robots allow --keys FILE",
};

function stateOf(entry: AllowedKeyView, now: Now): string {
  return entry.used_at === null ? allowedKeyState(entry, now.ms) : `used ${timeAgo(entry.used_at, now)}`;
}

/** `robots allowed`: the keys, who allowed them, and when they were used. */
export const robotsAllowed: OperatorCommand = (flags, context) =>
  withService(flags, context, (service) =>
    showList(service, () => listAllowed(service), allowedView, { missing: MISSING }),
  );

function listAllowed(service: Service) {
  return service.listAll(beyondSpec.listAllowedKeys, ({ items }) => items);
}

/** `robots disallow KEY`: by its fingerprint or the id of its entry. Asks once at a terminal. */
export const robotsDisallow: OperatorCommand = (flags, context, name) =>
  withService(flags, context, async (service) => {
    const { terminal } = service;
    const result = await listAllowed(service);
    if (result.kind !== "ok") return service.failed(result, { missing: MISSING });
    const entry = itemsIn(result.value).find(({ id, key_fingerprint: key }) => id === name || key === name);
    if (entry === undefined) {
      return refuseUnknown(`no allowed key is ${name ?? ""}`, "robot-policy robots allowed lists them", terminal);
    }
    const { id, key_fingerprint: key } = entry;
    return makeChange(service, {
      row: beyondSpec.removeAllowedKey,
      input: { parameters: { allowed_key_id: id } },
      explain() {
        terminal.note(`This takes ${key} (${stateOf(entry, service.now())}) off the list.`);
        if (entry.used_at !== null) terminal.note("The computer that enrolled with it keeps its credential.");
        return "Go on?";
      },
      missing: MISSING,
      show: () => terminal.print(`${key} is allowed no more.`),
    });
  });

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

/**
 * Reads public keys or fingerprints, one per line; `#` begins a comment. Each key counts once, also where its fingerprint is given, too.
 * Reports all findings, each at file:line:column.
 */
async function readKeyList(path: string, json: boolean, context: OperatorContext): Promise<KeyList | Unusable> {
  const name = shownPath(path);
  const bytes = await readGiven(path, LIMIT_BYTES, context);
  const refuse = (findings: readonly Finding[]) =>
    refuseFile(findings, { name, bytes: "code" in bytes ? null : bytes, json }, context);
  if ("code" in bytes) return refuse([unreadable(bytes, LIMIT_BYTES)]);
  const findings: Finding[] = [];
  const found: { readonly key: string; readonly line: number; readonly column: number }[] = [];
  const known = new Set<string>();
  for (const [index, text] of new TextDecoder().decode(bytes).split("\n").entries()) {
    const key = keyOn(text);
    if (key === "") continue;
    const place = { line: index + 1, column: text.indexOf(key) + 1 };
    if (KEY.test(key)) {
      const fingerprint = key.startsWith("SHA256:") ? key : keyFingerprint(key);
      if (!known.has(fingerprint)) found.push({ key, ...place });
      known.add(fingerprint);
    } else {
      findings.push(finding("key", NO_KEY, place));
    }
    if (findings.length === FINDINGS_MAXIMUM) break;
  }
  const beyond = found[ALLOWED_KEYS_MAXIMUM];
  if (beyond !== undefined)
    findings.push(finding("too_many", `a list has at most ${ALLOWED_KEYS_MAXIMUM} keys`, beyond));
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
