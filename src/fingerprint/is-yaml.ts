import { parseAllDocuments } from "yaml";

/**
 * True when the syntax of the text is complete: no bracket or quote is open at its end, and no line is cut.
 *
 * Lenient on purpose: several YAML documents, unknown tags and directives, repeated keys and unresolved aliases pass, because ROS and
 * OpenCV files have them. What stands in brackets or quotes may continue at any column, because PyYAML reads that.
 */
export function isYaml(text: string): boolean {
  // Blocks that a file system lost in a power cut read as zeros, which the parser accepts as plain text.
  if (text.includes("\0")) return false;
  if (hasNoErrors(text)) return true;
  const joined = joinLines(text);
  return joined !== text && hasNoErrors(joined);
}

/** YAML 1.2 wants what stands in brackets or quotes indented further than its key. */
function hasNoErrors(text: string): boolean {
  const documents = parseAllDocuments(text, {
    strict: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  return Array.from(documents).every((document) => document.errors.length === 0);
}

/** A part of the text, outside and inside brackets: a quoted text, perhaps without end, a bracket, a comment, blanks, or words. */
const OUTSIDE =
  /"(?:[^"\\]|\\[^])*"?|'[^']*'?|[[{]|#.*|\s+|(?:---|[-?:])(?=\s)|[!&*]\S*|(?:[^\n:# \t]|:(?!\s)|(?<!\s)#|[ \t](?!#))+/y;
const INSIDE = /"(?:[^"\\]|\\[^])*"?|'[^']*'?|[[\]{}]|#.*|\s+|(?:[^\s[\]{},:#]|:(?=\S)|(?<!\s)#)+/y;

/** The text with each list, map and text in brackets or quotes on one line, without the comments in it. */
function joinLines(text: string): string {
  let joined = "";
  let openBrackets = 0;
  for (let at = 0; at < text.length;) {
    const pattern = openBrackets > 0 ? INSIDE : OUTSIDE;
    pattern.lastIndex = at;
    const part = pattern.exec(text)?.[0] ?? text.charAt(at);
    at += part.length;
    if (/^[[{]/.test(part)) openBrackets += 1;
    else if (openBrackets > 0 && /^[\]}]/.test(part)) openBrackets -= 1;
    if (openBrackets > 0 && part.startsWith("#")) continue;
    joined += openBrackets > 0 || /^["']/.test(part) ? part.replaceAll(/\r?\n/g, " ") : part;
  }
  return joined;
}
