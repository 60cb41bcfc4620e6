/**
 * The text of a JSON body, or null when its bytes are invalid in the detected encoding.
 *
 * RFC 8259 requires UTF-8. Python's decoder, and so FastAPI, also accepts UTF-16 and UTF-32, detected by their byte order mark, or by zero
 * bytes in the first characters, which are ASCII in JSON (RFC 4627, section 3). A byte order mark is dropped.
 */
export function decodeJson(bytes: Uint8Array): string | null {
  const encoding = encodingOf(bytes);
  switch (encoding) {
    case "utf-8":
    case "utf-16le":
    case "utf-16be":
      return decode(bytes, encoding);
    case "utf-32le":
    case "utf-32be":
      return decodeUtf32(bytes, encoding === "utf-32le");
  }
}

type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "utf-32le" | "utf-32be";

/** Byte order marks, longer ones first: that of UTF-32 begins with that of UTF-16. */
const MARKS: readonly (readonly [Encoding, readonly number[]])[] = [
  ["utf-32be", [0, 0, 0xfe, 0xff]],
  ["utf-32le", [0xff, 0xfe, 0, 0]],
  ["utf-16be", [0xfe, 0xff]],
  ["utf-16le", [0xff, 0xfe]],
];

function encodingOf(bytes: Uint8Array): Encoding {
  const marked = MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte));
  if (marked !== undefined) return marked[0];
  const [first, second, third, fourth] = bytes;
  if (bytes.byteLength === 2) {
    if (first === 0) return "utf-16be";
    return second === 0 ? "utf-16le" : "utf-8";
  }
  if (bytes.byteLength < 4) return "utf-8";
  if (first === 0) return second === 0 ? "utf-32be" : "utf-16be";
  if (second === 0) return third === 0 && fourth === 0 ? "utf-32le" : "utf-16le";
  return "utf-8";
}

/** Created once: creating it takes longer than decoding the body of a robot. */
const UTF_8 = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Uint8Array, encoding: string): string | null {
  try {
    const decoder = encoding === UTF_8.encoding ? UTF_8 : new TextDecoder(encoding, { fatal: true });
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** TextDecoder does not support UTF-32. */
function decodeUtf32(bytes: Uint8Array, isLittleEndian: boolean): string | null {
  if (bytes.byteLength % 4 !== 0) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const characters: string[] = [];
  for (let offset = 0; offset < bytes.byteLength; offset += 4) {
    const codePoint = view.getUint32(offset, isLittleEndian);
    if (codePoint > 0x10ffff || (codePoint >= 0xd800 && codePoint <= 0xdfff)) return null;
    characters.push(String.fromCodePoint(codePoint));
  }
  return characters.join("").replace(/^\ufeff/, "");
}
