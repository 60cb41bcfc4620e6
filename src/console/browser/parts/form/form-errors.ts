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
    const message = sentence(finding.msg);
    if (name === undefined) rest.push(path === "" ? message : `${path}: ${message}`);
    else if (isUnchanged(name)) {
      // A field that holds several values names the one that is meant.
      const value = path === name || typeof finding.input !== "string" ? "" : `${finding.input}: `;
      byName.set(name, [...(byName.get(name) ?? []), value + message]);
    }
  }
  return { of: (name) => byName.get(name)?.slice(0, SHOWN_MAXIMUM).join(" "), rest };
}

/** Most errors shown for one field: others appear once these are corrected. */
const SHOWN_MAXIMUM = 3;

/** The longest field path that is a prefix of the path. */
function nearestField(path: string, fields: readonly string[]): string | undefined {
  const above = fields.filter((field) => path === field || path.startsWith(`${field}.`));
  above.sort((left, right) => right.length - left.length);
  return above[0];
}
