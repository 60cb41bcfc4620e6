/** Far deeper than any document of a service. */
const DEPTH_LIMIT = 256;

/** Whether a document is nested so deep that printing it as JSON could overflow the stack. */
export function isTooDeep(document: unknown): boolean {
  let level: readonly unknown[] = [document];
  for (let depth = 0; depth < DEPTH_LIMIT; depth += 1) {
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
    if (level.length === 0) return false;
  }
  return true;
}
