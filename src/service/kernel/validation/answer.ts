import { type Json, printJson } from "../json/json.ts";
import { REDACTED, redact, redactBeginning } from "../redact.ts";
import { FINDINGS_MAXIMUM, isObject } from "./check.ts";
import type { Finding } from "./finding.ts";

/** Answers up to this size repeat every `input` completely; in larger ones they are shortened. */
export const ANSWER_WHOLE_BYTES = 8192;
/** A shortened answer ends before the finding that would exceed this size. */
export const ANSWER_CUT_BYTES = 65_536;
/** Characters kept of a text or member name in a shortened answer. */
const CUT_LENGTH = 64;

/** Members with secret values. */
const SECRET_NAMES =
  /api_?key|authorization|^code$|credential|^nonce$|passw|^public_key$|secret|^signature$|token|^user_code$|verifier/i;
/** Members of enrolments and renewals, whose findings have no `input` at all. */
const UNREPEATED: ReadonlySet<unknown> = new Set(["user_code", "poll_token", "signature", "nonce", "public_key"]);

/**
 * The body of a 422 answer, as JSON text: FastAPI's `{detail: [{type, loc, msg, input, ctx}]}`.
 *
 * `input` repeats what was sent, but never a credential, and never more than fits `ANSWER_WHOLE_BYTES`.
 *
 * @param all the first `FINDINGS_MAXIMUM` are answered.
 */
export function validationAnswer(all: readonly Finding[]): string {
  const findings = all.slice(0, FINDINGS_MAXIMUM);
  // Otherwise a body of a megabyte that lacks six members would be printed six times in vain.
  if (isWithin(findings, ANSWER_WHOLE_BYTES)) {
    const whole = answer(findings.map(withoutSecrets).map(print));
    if (Buffer.byteLength(whole) <= ANSWER_WHOLE_BYTES) return whole;
  }
  return answer(cutDetails(findings));
}

type Shown = Omit<Finding, "input"> & { readonly input?: Json };

function answer(details: readonly string[]): string {
  return `{"detail":[${details.join(",")}]}`;
}

function print({ type, loc, msg, input, ctx }: Shown): string {
  return printJson({ type, loc, msg, input, ctx });
}

/** As many findings as fit, at least one. */
function cutDetails(findings: readonly Finding[]): readonly string[] {
  const details: string[] = [];
  let sizeBytes = 0;
  for (const finding of findings) {
    const detail = print(withoutSecrets(cut(finding)));
    sizeBytes += Buffer.byteLength(detail);
    if (details.length > 0 && sizeBytes > ANSWER_CUT_BYTES) break;
    details.push(detail);
  }
  return details;
}

/** Whether the printed findings may fit into this many bytes; stops as soon as they do not. */
function isWithin(findings: readonly Finding[], limitBytes: number): boolean {
  let leftBytes = limitBytes;
  const spend = (input: Json): boolean => {
    leftBytes -= typeof input === "string" ? input.length : 1;
    if (leftBytes < 0) return false;
    if (isObject(input)) return [...input].every(([name, member]) => spend(name) && spend(member));
    return Array.isArray(input) ? input.every(spend) : true;
  };
  return findings.every(({ loc, input }) => loc.every(spend) && spend(input));
}

function withoutSecrets(finding: Shown): Shown {
  const { input, ...rest } = finding;
  const loc = finding.loc.map((part) => (typeof part === "string" ? redact(part) : part));
  const member = finding.loc.at(-1);
  if (input === undefined || UNREPEATED.has(member)) return { ...rest, loc };
  const isSecret = typeof member === "string" && SECRET_NAMES.test(member);
  return { ...rest, loc, input: isSecret ? conceal(input) : clean(input) };
}

function clean(input: Json): Json {
  if (typeof input === "string") return redact(input);
  if (input === null || typeof input !== "object") return input;
  if (isObject(input)) {
    return new Map(
      [...input].map(([name, member]) => [redact(name), SECRET_NAMES.test(name) ? conceal(member) : clean(member)]),
    );
  }
  return input.map(clean);
}

/** Numbers, booleans and null are shown: they are not secrets. */
function conceal(input: Json): Json {
  return typeof input === "string" || (typeof input === "object" && input !== null) ? REDACTED : input;
}

/** Drops lists and objects, shortens texts and member names; keeps location and message. */
function cut(finding: Finding): Shown {
  const { input, ...rest } = finding;
  const loc = finding.loc.map((part) => (typeof part === "string" ? shorten(part) : part));
  if (input !== null && typeof input === "object") return { ...rest, loc };
  if (typeof input === "bigint") return { ...rest, loc };
  return { ...rest, loc, input: typeof input === "string" ? shorten(input) : input };
}

function shorten(text: string): string {
  const shown = redactBeginning(text);
  if (shown.length <= CUT_LENGTH) return shown;
  // By code points, so as not to split a surrogate pair.
  return `${Array.from(shown.slice(0, 2 * CUT_LENGTH))
    .slice(0, CUT_LENGTH)
    .join("")}…`;
}
