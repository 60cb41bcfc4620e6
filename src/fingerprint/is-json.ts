/** Deeper than anything that configures a robot. */
const DEEPEST = 1000;
const LITERALS: readonly Uint8Array[] = ["true", "false", "null"].map((text) => Buffer.from(text));

const CHARACTER = {
  quote: 0x22,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  colon: 0x3a,
  upperE: 0x45,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  e: 0x65,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

/**
 * True for one whole JSON text (RFC 8259), which may begin with a byte order mark.
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

  function take(character: number): boolean {
    if (skipBlanks() !== character) return false;
    at += 1;
    return true;
  }

  function takeString(): boolean {
    if (!take(CHARACTER.quote)) return false;
    for (; at < bytes.byteLength; at += 1) {
      const character = bytes[at] ?? 0;
      if (character < 0x20) return false;
      if (character === CHARACTER.backslash) at += 1;
      else if (character === CHARACTER.quote) {
        at += 1;
        return true;
      }
    }
    return false;
  }

  function takeScalar(): boolean {
    return isDigit(bytes[at]) || bytes[at] === CHARACTER.minus ? takeNumber() : takeLiteral();
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
    if (bytes[at] === CHARACTER.minus) at += 1;
    if (bytes[at] === CHARACTER.zero) at += 1;
    else if (!takeDigits()) return false;
    if (bytes[at] === CHARACTER.point) {
      at += 1;
      if (!takeDigits()) return false;
    }
    if (bytes[at] !== CHARACTER.e && bytes[at] !== CHARACTER.upperE) return true;
    at += 1;
    if (bytes[at] === CHARACTER.plus || bytes[at] === CHARACTER.minus) at += 1;
    return takeDigits();
  }

  const takeKey = () => takeString() && take(CHARACTER.colon);

  /** Takes a scalar, an empty container, or the start of a container up to its first value. */
  function takeValue(): "whole" | "opened" | "broken" {
    const character = skipBlanks();
    if (character === CHARACTER.quote) return takeString() ? "whole" : "broken";
    if (character !== CHARACTER.openObject && character !== CHARACTER.openArray)
      return takeScalar() ? "whole" : "broken";
    const opensObject = character === CHARACTER.openObject;
    at += 1;
    if (take(opensObject ? CHARACTER.closeObject : CHARACTER.closeArray)) return "whole";
    isObject.push(opensObject);
    if (isObject.length > DEEPEST) return "broken";
    return opensObject && !takeKey() ? "broken" : "opened";
  }

  for (;;) {
    const value = takeValue();
    if (value === "broken") return false;
    if (value === "opened") continue;
    while (isObject.length > 0 && take(isObject.at(-1) === true ? CHARACTER.closeObject : CHARACTER.closeArray))
      isObject.pop();
    if (isObject.length === 0) return skipBlanks() === undefined;
    if (!take(CHARACTER.comma)) return false;
    if (isObject.at(-1) === true && !takeKey()) return false;
  }
}

function isDigit(character: number | undefined): boolean {
  return character !== undefined && character >= 0x30 && character <= 0x39;
}
