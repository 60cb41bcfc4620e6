import { maskSecrets } from "../api/wire/service-key.ts";

/** Longer steps are cut, because pointers appear in logs. No known key is that long. */
const LONGEST_STEP = 200;

/** The path from the root of a document to a value, innermost step first; null is the root. */
export type Path = PathStep | null;

interface PathStep {
  readonly parent: Path;
  readonly step: string | number;
}

export function below(parent: Path, step: string | number): Path {
  return { parent, step };
}

/** The JSON Pointer of a path (RFC 6901). Key material in it is masked. */
export function pointer(path: Path): string {
  const steps: string[] = [];
  for (let at = path; at !== null; at = at.parent) steps.push(escapeStep(String(at.step)));
  return steps.toReversed().join("");
}

/** Inverse of `pointer`. */
export function parsePointer(loc: string): readonly string[] {
  return loc
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function escapeStep(step: string): string {
  const cut = step.length > LONGEST_STEP ? `${step.slice(0, LONGEST_STEP)}…` : step;
  return `/${maskSecrets(cut).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
