/** Output of a test's programs, printed if the test fails (each-file.ts). */

const LINE_LIMIT = 100;

interface Output {
  readonly title: string;
  readonly read: () => string;
  isOver: boolean;
}

const outputs = new Set<Output>();

/**
 * Prints the output of a program if the test fails.
 *
 * @param read returns the output so far.
 * @returns a function to call when the program ends: the output then belongs to the current test and is dropped with it.
 */
export function showOnFailure(title: string, read: () => string): () => void {
  const output: Output = { title, read, isOver: false };
  outputs.add(output);
  return () => {
    output.isOver = true;
  };
}

/** The last output lines of every program. */
export function describeOutputs(): string {
  return [...outputs].map(({ title, read }) => `--- ${title}\n${lastLines(read())}`).join("\n");
}

/** Drops the output of ended programs. */
export function forgetEnded(): void {
  for (const output of outputs) {
    if (output.isOver) outputs.delete(output);
  }
}

function lastLines(text: string): string {
  const lines = text.trimEnd().split("\n");
  if (lines.length <= LINE_LIMIT) return lines.join("\n");
  return [`… ${lines.length - LINE_LIMIT} more lines`, ...lines.slice(-LINE_LIMIT)].join("\n");
}
