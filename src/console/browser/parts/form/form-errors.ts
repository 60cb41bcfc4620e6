import { useRef } from "preact/hooks";

import type { ValidationError } from "../../../../api/wire/errors.ts";
import { type Problem, sentence } from "../../data/request.ts";
import type { Write } from "../../data/write.ts";

/** Errors of a refused form: by field, and the rest. */
export interface FormErrors {
  /** By the path in the body: `selection.selector.site`. An error without its own field belongs to the nearest field above. */
  of(path: string): string | undefined;
  readonly rest: readonly string[];
}

/** The content of the form as it was refused, and now, with the member names of the body. */
interface Drafts {
  readonly refused: unknown;
  readonly now: unknown;
}

const UNCHANGED: Drafts = { refused: null, now: null };

/**
 * Assigns the service's validation errors to the fields of a form. Leaves out errors of parts that have changed since.
 *
 * @param fields paths in the body that the form has fields for.
 */
export function formErrors(
  problem: Problem | null,
  fields: readonly string[],
  { refused, now }: Drafts = UNCHANGED,
): FormErrors {
  if (problem === null) return { of: () => undefined, rest: [] };
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

/**
 * The service's validation errors for a form, each until the person changes the refused value.
 *
 * @param fields paths in the body that the form has fields for.
 * @param draft the current content of the form, with the member names of the body.
 */
export function useFormErrors(
  { isBusy, problem }: Pick<Write<unknown>, "isBusy" | "problem">,
  fields: readonly string[],
  draft: unknown,
): FormErrors {
  const sent = useRef(draft);
  const refusal = useRef({ problem, draft });
  if (refusal.current.problem !== problem) refusal.current = { problem, draft: sent.current };
  // The person may change the form while a request runs.
  if (!isBusy) sent.current = draft;
  return formErrors(problem, fields, { refused: refusal.current.draft, now: draft });
}

/** Most errors shown for one field. */
const TOLD_MAXIMUM = 3;

function joined(messages: readonly string[]): string | undefined {
  if (messages.length === 0) return undefined;
  const more = messages.length - TOLD_MAXIMUM;
  return [...messages.slice(0, TOLD_MAXIMUM), ...(more > 0 ? [`And ${more} more.`] : [])].join(" ");
}

/** Names the value, because a field may hold several. */
function inputAndMessage(finding: ValidationError): string {
  const message = messageOf(finding);
  if (typeof finding.input !== "string") return message;
  return `${finding.input}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

/** Shorter messages for frequent errors; otherwise the service's message. */
function messageOf({ type, msg, ctx = {} }: ValidationError): string {
  const isEmpty = type === "string_too_short" && ctx["min_length"] === 1;
  if (type === "missing" || isEmpty) return "This is needed.";
  if (type === "string_too_long") return `At most ${String(ctx["max_length"])} characters.`;
  if (type === "greater_than_equal") return `At least ${String(ctx["ge"])}.`;
  if (type === "less_than_equal") return `At most ${String(ctx["le"])}.`;
  if (type.startsWith("int_")) return "A whole number.";
  if (type.startsWith("datetime_")) return "A date and a time.";
  return sentence(msg);
}

/** The longest field path that is a prefix of the path. */
function nearestField(path: string, fields: readonly string[]): string | undefined {
  const above = fields.filter((field) => path === field || path.startsWith(`${field}.`));
  above.sort((left, right) => right.length - left.length);
  return above[0];
}

function pathOf({ loc }: ValidationError): string {
  return loc.slice(1).join(".");
}

/** The value at the finding's location, as JSON; undefined if there is none. */
function partAt(draft: unknown, { loc }: ValidationError): string | undefined {
  let part = draft;
  for (const key of loc.slice(1)) {
    if (typeof part !== "object" || part === null) return undefined;
    part = Object.entries(part).find(([name]) => name === String(key))?.[1];
  }
  return JSON.stringify(part);
}
