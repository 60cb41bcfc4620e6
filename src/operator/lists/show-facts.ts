import type { Terminal } from "../../platform/terminal.ts";

export type Fact = readonly [name: string, value: string];

/** What is known of one thing, a name and a value on each line; empty values are left out. */
export function showFacts(facts: readonly Fact[], terminal: Terminal): void {
  terminal.table(
    ["", ""],
    facts.filter(([, value]) => value !== ""),
  );
}
