const SHOWN = "[secret]";

/**
 * A value that must not be shown. Printing, logging, interpolating, serializing and inspecting it all give `[secret]`;
 * only `reveal` returns it, for the header that needs it.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** Replaces every occurrence of the value in an untrusted text, which may echo it. */
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

/** For requests without a credential. */
export const NO_SECRET = new Secret("");
