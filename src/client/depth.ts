/** No document of a service comes near it. */
const DEPTH_LIMIT = 256;

/** Whether a document is nested so deep that it is none: who prints it as JSON again would run out of stack. */
export function isTooDeep(document: unknown): boolean {
  let level: readonly unknown[] = [document];
  for (let depth = 0; depth < DEPTH_LIMIT; depth += 1) {
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
    if (level.length === 0) return false;
  }
  return true;
}
