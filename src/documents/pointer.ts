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
  const steps: PathStep["step"][] = [];
  for (let at = path; at !== null; at = at.parent) steps.push(at.step);
  return pointerOf(steps.toReversed());
}

/** As `pointer`, of the steps from the root. */
export function pointerOf(steps: readonly PathStep["step"][]): string {
  return steps.map((step) => escapeStep(String(step))).join("");
}

/** Inverse of `pointer`. */
export function parsePointer(loc: string): readonly string[] {
  return loc
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function escapeStep(step: string): string {
  const masked = maskSecrets(step);
  const cut = masked.length > LONGEST_STEP ? `${masked.slice(0, LONGEST_STEP)}…` : masked;
  return `/${cut.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
