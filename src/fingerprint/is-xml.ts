/** Deeper than anything that configures a robot. */
const DEEPEST = 1000;
const NAME_END = /[\s/>]/g;
const DOCTYPE_HEAD = /[^[>]*[[>]/y;
const DOCTYPE_END = /\]\s*>/g;

/** Skipped without looking inside. */
const SECTIONS = [
  ["<!--", "-->"],
  ["<![CDATA[", "]]>"],
  ["<?", "?>"],
] as const;

/**
 * True when the tags of the text are complete: one root element, each element closed in order, nothing after it.
 *
 * Runs in linear time. Does not check entities, namespaces, attributes or encodings.
 *
 * @param text the bytes decoded as Latin-1, which keeps the markup of every encoding that extends ASCII.
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

/** True for white space, with a byte order mark at the start of the text. */
function isBlank(between: string, at: number): boolean {
  const text = at === 0 && between.startsWith("\xEF\xBB\xBF") ? between.slice(3) : between;
  return text.trim() === "";
}

/** The index after the markup that starts here; null when it has no end. */
function endOf(text: string, start: number): number | null {
  for (const [opening, closing] of SECTIONS) {
    if (!text.startsWith(opening, start)) continue;
    const end = text.indexOf(closing, start + opening.length);
    return end < 0 ? null : end + closing.length;
  }
  return text.startsWith("<!", start) ? endOfDoctype(text, start) : endOfTag(text, start);
}

/** A DOCTYPE may contain declarations in brackets. */
function endOfDoctype(text: string, start: number): number | null {
  DOCTYPE_HEAD.lastIndex = start;
  const head = DOCTYPE_HEAD.exec(text)?.[0];
  if (head === undefined) return null;
  if (head.endsWith(">")) return DOCTYPE_HEAD.lastIndex;
  DOCTYPE_END.lastIndex = start;
  return DOCTYPE_END.test(text) ? DOCTYPE_END.lastIndex : null;
}

/** The index after the first `>` that is not in quotes. */
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
