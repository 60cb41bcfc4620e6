import type { ValidationError } from "../../../../api/wire/errors.ts";
import { type Problem, sentence } from "../../data/request.ts";

/** Errors of a refused form: by field, and the rest. */
export interface FormErrors {
  /** By the path in the body: `selection.selector.site`. An error without its own field belongs to the nearest field above. */
  of(path: string): string | undefined;
  readonly rest: readonly string[];
}

/**
 * Assigns the service's validation errors to the fields of a form. Leaves out those of fields that have changed since.
 *
 * @param names of the fields: paths in the body.
 */
export function formErrors(
  problem: Problem | null,
  names: readonly string[],
  isUnchanged: (name: string) => boolean = () => true,
): FormErrors {
  if (problem === null) return { of: () => undefined, rest: [] };
  if (problem.kind !== "invalid") return { of: () => undefined, rest: [problem.detail] };
  const byName = new Map<string, string[]>();
  const rest: string[] = [];
  for (const finding of problem.findings) {
    const path = finding.loc.slice(1).join(".");
    const name = nearestField(path, names);
    if (name === undefined) rest.push(path === "" ? messageOf(finding) : `${path}: ${messageOf(finding)}`);
    else if (isUnchanged(name)) {
      byName.set(name, [...(byName.get(name) ?? []), path === name ? messageOf(finding) : inputAndMessage(finding)]);
    }
  }
  return { of: (name) => joined(byName.get(name) ?? []), rest };
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
