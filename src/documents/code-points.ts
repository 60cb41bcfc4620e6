/** Number of code points of `text` between two UTF-16 offsets; an unpaired surrogate counts as one. */
export function codePoints(text: string, start = 0, end = text.length): number {
  let count = 0;
  for (let offset = start; offset < end; offset += 1) {
    const isPair = (text.charCodeAt(offset) & 0xfc00) === 0xd800 && (text.charCodeAt(offset + 1) & 0xfc00) === 0xdc00;
    if (isPair) offset += 1;
    count += 1;
  }
  return count;
}

/** A fast check that saves most texts the slower Unicode patterns at boot. */
export function isPrintableAscii(text: string): boolean {
  for (let offset = 0; offset < text.length; offset += 1) {
    const unit = text.charCodeAt(offset);
    if (unit < 32 || unit > 126) return false;
  }
  return true;
}
