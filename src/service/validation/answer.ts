import type { Json } from "../json/parse-json.ts";
import { printJson } from "../json/print-json.ts";
import type { Finding } from "./finding.ts";

/** An answer within this repeats every `input` whole; beyond it they are cut, because the sender knows what it sent. */
export const ANSWER_WHOLE_BYTES = 8192;
/** Characters of a text or member name that are kept when an answer is cut. */
const CUT_LENGTH = 64;

/** What looks like an API key, anywhere in a text. */
const API_KEYS = /sk_[A-Za-z0-9]{1,32}_[A-Za-z0-9_-]{8,}/g;
/** Members whose values are nobody's business. */
const SECRET_NAMES = /api_?key|authorization|credential|passw|secret|token/i;
const REDACTED = "[redacted]";

/**
 * The body of a 422 answer, as JSON text: FastAPI's `{detail: [{type, loc, msg, input, ctx}]}`.
 *
 * `input` repeats what was sent, but never a credential, and never more than fits `ANSWER_WHOLE_BYTES`.
 */
export function validationAnswer(findings: readonly Finding[]): string {
  const whole = render(findings.map(withoutSecrets));
  if (Buffer.byteLength(whole) <= ANSWER_WHOLE_BYTES) return whole;
  return render(findings.map(withoutSecrets).map(cut));
}

type Shown = Omit<Finding, "input"> & { readonly input?: Json };

function render(findings: readonly Shown[]): string {
  const detail = findings.map(({ type, loc, msg, input, ctx }) => ({ type, loc, msg, input, ctx }));
  return printJson({ detail });
}

function withoutSecrets(finding: Finding): Finding {
  const member = finding.loc.at(-1);
  const isSecret = typeof member === "string" && SECRET_NAMES.test(member) && typeof finding.input === "string";
  return {
    ...finding,
    loc: finding.loc.map((part) => (typeof part === "string" ? redact(part) : part)),
    input: isSecret ? REDACTED : clean(finding.input),
  };
}

function clean(input: Json): Json {
  if (typeof input === "string") return redact(input);
  if (input === null || typeof input !== "object") return input;
  if (input instanceof Map) {
    return new Map(
      [...input].map(([name, member]) => [redact(name), SECRET_NAMES.test(name) ? REDACTED : clean(member)]),
    );
  }
  const items: readonly Json[] = [...input.values()];
  return items.map(clean);
}

function redact(text: string): string {
  return text.includes("sk_") ? text.replaceAll(API_KEYS, REDACTED) : text;
}

/** Lists and objects are dropped, texts and member names shortened; where it was and what is wrong stay. */
function cut(finding: Finding): Shown {
  const { input, ...rest } = finding;
  const loc = finding.loc.map((part) => (typeof part === "string" ? shorten(part) : part));
  if (input !== null && typeof input === "object") return { ...rest, loc };
  if (typeof input === "bigint") return { ...rest, loc };
  return { ...rest, loc, input: typeof input === "string" ? shorten(input) : input };
}

function shorten(text: string): string {
  return text.length <= CUT_LENGTH ? text : `${text.slice(0, CUT_LENGTH)}…`;
}
