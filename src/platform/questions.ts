/** Asks a person at the terminal. */
export interface Questions {
  /** @returns what was typed; null at the end of the input. */
  ask(question: string): Promise<string | null>;
  close(): void;
}
