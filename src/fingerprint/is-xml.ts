/** Deeper than anything that configures a robot. */
const DEEPEST = 1000;
const NAME_END = /[\s/>]/g;
const DOCTYPE_HEAD = /[^[>]*[[>]/y;
const DOCTYPE_END = /\]\s*>/g;

/** What is skipped as a whole. */
const SECTIONS = [
  ["<!--", "-->"],
  ["<![CDATA[", "]]>"],
  ["<?", "?>"],
] as const;

/**
 * True when the text is whole as far as its tags tell: one root element, each element closed in order, nothing else after it.
 *
 * In linear time. Generous on purpose: entities, namespaces, attributes and encodings are not judged.
 *
 * @param text the bytes as Latin-1, which leaves the markup of every encoding that extends ASCII as it is.
 */
export function isXml(text: string): boolean {
  /** Names of the elements that are open. */
  const open: string[] = [];
  let hasRoot = false;
  let at = 0;
  for (;;) {
    const start = text.indexOf("<", at);
    const between = text.slice(at, start < 0 ? undefined : start);
    if (open.length === 0 && !isBlank(between, at)) return false;
    if (start < 0) return hasRoot && open.length === 0;
    const end = endOf(text, start);
    if (end === null) return false;
    at = end;
    if (text[start + 1] === "!" || text[start + 1] === "?") continue;
    if (text[start + 1] === "/") {
      if (open.pop() !== text.slice(start + 2, end - 1).trimEnd()) return false;
      continue;
    }
    if (open.length === 0 && hasRoot) return false;
    hasRoot = true;
    if (text[end - 2] === "/") continue;
    NAME_END.lastIndex = start + 1;
    open.push(text.slice(start + 1, NAME_END.exec(text)?.index));
    if (open.length > DEEPEST) return false;
  }
}

/** A byte order mark may come first. */
function isBlank(between: string, at: number): boolean {
  const text = at === 0 && between.startsWith("\xEF\xBB\xBF") ? between.slice(3) : between;
  return text.trim() === "";
}

/** Where the markup that starts here is over; null when it is not. */
function endOf(text: string, start: number): number | null {
  for (const [opening, closing] of SECTIONS) {
    if (!text.startsWith(opening, start)) continue;
    const end = text.indexOf(closing, start + opening.length);
    return end < 0 ? null : end + closing.length;
  }
  return text.startsWith("<!", start) ? endOfDoctype(text, start) : endOfTag(text, start);
}

/** Its own declarations stand in brackets. */
function endOfDoctype(text: string, start: number): number | null {
  DOCTYPE_HEAD.lastIndex = start;
  const head = DOCTYPE_HEAD.exec(text)?.[0];
  if (head === undefined) return null;
  if (head.endsWith(">")) return DOCTYPE_HEAD.lastIndex;
  DOCTYPE_END.lastIndex = start;
  return DOCTYPE_END.test(text) ? DOCTYPE_END.lastIndex : null;
}

/** Behind the first `>` that is not in quotes. */
function endOfTag(text: string, start: number): number | null {
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === ">") return at + 1;
    if (character !== '"' && character !== "'") continue;
    at = text.indexOf(character, at + 1);
    if (at < 0) return null;
  }
  return null;
}
