const SHOWN = "[secret]";

/**
 * A value that must not be seen. Printing, logging, interpolating, serializing and inspecting it all give `[secret]`;
 * only `reveal` gives it out, for the one header it is meant for.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** True when `other` hides the same value. */
  equals(other: Secret): boolean {
    return this.#value === other.#value;
  }

  /** `text` with every occurrence of the value replaced, for text that a stranger wrote and may hold an echo. */
  redactFrom(text: string): string {
    return this.#value === "" ? text : text.replaceAll(this.#value, SHOWN);
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return SHOWN;
  }
}
