import type { Terminal } from "../../platform/terminal.ts";

export type Fact = readonly [name: string, value: string];

/** Prints one name and value per line, without empty values. */
export function showFacts(facts: readonly Fact[], terminal: Terminal): void {
  terminal.table(
    ["", ""],
    facts.filter(([, value]) => value !== ""),
  );
}
