import type { Terminal } from "../../platform/terminal.ts";

export type Fact = readonly [name: string, value: string];

/** Prints one name and value per line, without empty values. */
export function showFacts(terminal: Terminal, facts: readonly Fact[]): void {
  terminal.table(["", ""], given(facts));
}

/** The same on stderr, for what a person is shown before a question. */
export function noteFacts(terminal: Terminal, facts: readonly Fact[]): void {
  for (const line of terminal.layOutTable(["", ""], given(facts)).lines) terminal.note(line);
}

function given(facts: readonly Fact[]): readonly Fact[] {
  return facts.filter(([, value]) => value !== "");
}
