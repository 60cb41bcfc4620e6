import type { ValidationError } from "../../../../api/wire/errors.ts";
import type { Problem } from "../../data/request.ts";
import { sentence } from "../../data/request.ts";

/** What a refused form is told: beside the fields it has, and above it for everything else. */
export interface FormErrors {
  /** By the path in the body: `selection.selector.site`. A field above it in the path shows what is said further down. */
  of(path: string): string | undefined;
  /** What no field of the form stands for. */
  readonly rest: readonly string[];
}

export const NO_ERRORS: FormErrors = { of: () => undefined, rest: [] };

/** What a form held when it was refused, and what it holds now, each under the names that the body has for it. */
interface Drafts {
  readonly refused: unknown;
  readonly now: unknown;
}

const UNCHANGED: Drafts = { refused: null, now: null };

/**
 * Sorts what the service refused to the fields of a form. What was said of a part that has changed since is over.
 *
 * @param fields paths in the body that the form has fields for.
 */
export function formErrors(
  problem: Problem | null,
  fields: readonly string[],
  { refused, now }: Drafts = UNCHANGED,
): FormErrors {
  if (problem === null) return NO_ERRORS;
  if (problem.kind !== "invalid") return { of: () => undefined, rest: [problem.detail] };
  const told = new Map<string, string[]>();
  const rest: string[] = [];
  for (const finding of problem.findings) {
    const path = pathOf(finding);
    if (partAt(refused, finding) !== partAt(now, finding)) continue;
    const field = nearestField(path, fields);
    if (field === undefined) rest.push(path === "" ? messageOf(finding) : `${path}: ${messageOf(finding)}`);
    else told.set(field, [...(told.get(field) ?? []), path === field ? messageOf(finding) : inputAndMessage(finding)]);
  }
  return { of: (path) => joined(told.get(path) ?? []), rest };
}

/** Findings that are told of one field; who has mended these sees the others. */
const TOLD_MAXIMUM = 3;

function joined(messages: readonly string[]): string | undefined {
  if (messages.length === 0) return undefined;
  const more = messages.length - TOLD_MAXIMUM;
  return [...messages.slice(0, TOLD_MAXIMUM), ...(more > 0 ? [`And ${more} more.`] : [])].join(" ");
}

/** Of one of several things in a field: which it is. */
function inputAndMessage(finding: ValidationError): string {
  const message = messageOf(finding);
  if (typeof finding.input !== "string") return message;
  return `${finding.input}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

/** What is wrong, in the words of a form; the service speaks as validators of bodies do. */
function messageOf({ type, msg, ctx = {} }: ValidationError): string {
  const { min_length, max_length, ge, le } = { ...NO_CONTEXT, ...ctx };
  if (type === "missing" || (type === "string_too_short" && min_length === 1)) return "This is needed.";
  if (type === "string_too_long") return `At most ${String(max_length)} characters.`;
  if (type === "greater_than_equal") return `At least ${String(ge)}.`;
  if (type === "less_than_equal") return `At most ${String(le)}.`;
  if (type.startsWith("int_")) return "A whole number.";
  if (type.startsWith("datetime_")) return "A date and a time.";
  return sentence(msg);
}

const NO_CONTEXT: Readonly<Record<"min_length" | "max_length" | "ge" | "le", unknown>> = {
  min_length: undefined,
  max_length: undefined,
  ge: undefined,
  le: undefined,
};

/** The longest of the fields that the path begins with. */
function nearestField(path: string, fields: readonly string[]): string | undefined {
  const above = fields.filter((field) => path === field || path.startsWith(`${field}.`));
  above.sort((left, right) => right.length - left.length);
  return above[0];
}

function pathOf({ loc }: ValidationError): string {
  return loc.slice(1).join(".");
}

/** What stands in a draft where the finding says, as JSON; undefined where there is nothing. */
function partAt(draft: unknown, { loc }: ValidationError): string | undefined {
  let part = draft;
  for (const key of loc.slice(1)) {
    if (typeof part !== "object" || part === null) return undefined;
    part = Object.entries(part).find(([name]) => name === String(key))?.[1];
  }
  return JSON.stringify(part);
}
