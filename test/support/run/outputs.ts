/** What the programs of a test wrote, kept to be shown should it fail (show-outputs.ts). */

const LINE_LIMIT = 100;

interface Output {
  readonly title: string;
  readonly read: () => string;
  isOver: boolean;
}

const outputs = new Set<Output>();

/**
 * Shows what a program wrote when a test fails.
 *
 * @param read gives everything that it wrote so far.
 * @returns is called at the program's end: the output then belongs to the test that runs, and is forgotten with it.
 */
export function showOnFailure(title: string, read: () => string): () => void {
  const output: Output = { title, read, isOver: false };
  outputs.add(output);
  return () => {
    output.isOver = true;
  };
}

/** The last lines of every program, for a person. */
export function describeOutputs(): string {
  return [...outputs].map(({ title, read }) => `--- ${title}\n${lastLines(read())}`).join("\n");
}

/** Forgets the programs that have ended. */
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
