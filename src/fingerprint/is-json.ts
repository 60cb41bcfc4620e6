/** Deeper than anything that configures a robot. */
const DEEPEST = 1000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The last three are not JSON, but Python and others write and read them. */
const LITERALS: readonly Uint8Array[] = ["true", "false", "null", "NaN", "Infinity", "-Infinity"].map((text) =>
  Buffer.from(text),
);

/**
 * True for one whole JSON text (RFC 8259), which may begin with a byte order mark and contain NaN and Infinity.
 *
 * Runs in linear time and almost without memory: JSON.parse needs fifty times the size of nested brackets, enough for the OOM killer.
 * Does not check escapes in strings. A text nested deeper than 1000 is not accepted.
 */
export function isJson(bytes: Uint8Array): boolean {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  /** One entry per open bracket: true for an object, false for an array. */
  const isObject: boolean[] = [];

  function skipBlanks(): number | undefined {
    while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
    return bytes[at];
  }

  const isAt = (character: string) => bytes[at] === character.charCodeAt(0);

  function skip(character: string): boolean {
    if (!isAt(character)) return false;
    at += 1;
    return true;
  }

  function take(character: string): boolean {
    skipBlanks();
    return skip(character);
  }

  function takeString(): boolean {
    if (!take('"')) return false;
    for (; at < bytes.byteLength; at += 1) {
      const character = bytes[at] ?? 0;
      if (character < 0x20) return false;
      if (character === QUOTE) {
        at += 1;
        return true;
      }
      if (character === BACKSLASH) at += 1;
    }
    return false;
  }

  function takeScalar(): boolean {
    return takeLiteral() || takeNumber();
  }

  function takeLiteral(): boolean {
    const literal = LITERALS.find((text) => text.every((character, index) => bytes[at + index] === character));
    at += literal?.byteLength ?? 0;
    return literal !== undefined;
  }

  function takeDigits(): boolean {
    const start = at;
    while (isDigit(bytes[at])) at += 1;
    return at > start;
  }

  function takeNumber(): boolean {
    skip("-");
    if (!skip("0") && !takeDigits()) return false;
    if (skip(".") && !takeDigits()) return false;
    if (!skip("e") && !skip("E")) return true;
    if (!skip("+")) skip("-");
    return takeDigits();
  }

  const takeKey = () => takeString() && take(":");

  /** Takes a scalar, an empty container, or the start of a container up to its first value. */
  function takeValue(): "whole" | "opened" | "broken" {
    skipBlanks();
    if (isAt('"')) return takeString() ? "whole" : "broken";
    const opensObject = isAt("{");
    if (!opensObject && !isAt("[")) return takeScalar() ? "whole" : "broken";
    at += 1;
    if (take(opensObject ? "}" : "]")) return "whole";
    isObject.push(opensObject);
    if (isObject.length > DEEPEST) return "broken";
    return opensObject && !takeKey() ? "broken" : "opened";
  }

  for (;;) {
    const value = takeValue();
    if (value === "broken") return false;
    if (value === "opened") continue;
    while (isObject.length > 0 && take(isObject.at(-1) === true ? "}" : "]")) isObject.pop();
    if (isObject.length === 0) return skipBlanks() === undefined;
    if (!take(",")) return false;
    if (isObject.at(-1) === true && !takeKey()) return false;
  }
}

function isDigit(character: number | undefined): boolean {
  return character !== undefined && character >= 0x30 && character <= 0x39;
}
