/** Text of manual pages, in the macros of man(7), which both groff and mandoc read. */

export interface PageHead {
  /** As in `man NAME`. */
  readonly name: string;
  readonly section: number;
  readonly summary: string;
}

export interface PageEdition {
  readonly version: string;
  /** Seconds since 1970. */
  readonly epochS: number;
}

export interface ManPage {
  /** `robot-policy-agent.8` */
  readonly file: string;
  readonly text: string;
}

/** A whole page: its head, then `body` line by line. */
export function page({ name, section, summary }: PageHead, { version, epochS }: PageEdition, body: string[]): string {
  const date = new Date(epochS * 1000).toISOString().slice(0, 10);
  const head = [
    // No hyphenation, because people copy words. Groff's macros ignore `.nh` at each paragraph unless this is 0.
    ".nr HY 0",
    // ASCII, so that nothing depends on the reader's locale.
    `.TH ${name.toUpperCase()} ${section} ${date} "robot\\-policy\\-agent ${version}" "Robot policy agent"`,
    // Not justified.
    ".ad l",
    ".SH NAME",
    `${literal(name)} \\- ${prose(summary)}`,
  ];
  return [...head, ...body, ""].join("\n");
}

/** `--setup`, a path, our own names. */
const TYPED = /(?<![\w\\])--?(?=\w)|(?<=\/\S*)-|\brobot-(?:policy(?:-agent|-service)?|manifest)\b/g;

/** Prose. Words that look like commands can be copied, and are not broken at a dash. */
export function prose(text: string): string {
  return escape(text).replaceAll(TYPED, (typed) => typed.replaceAll("-", "\\-"));
}

/** Text to type: every dash is the ASCII one. */
export function literal(text: string): string {
  return escape(text).replaceAll("-", "\\-");
}

export function bold(text: string): string {
  return `\\fB${literal(text)}\\fR`;
}

export function italic(text: string): string {
  return `\\fI${literal(text)}\\fR`;
}

/** SYNOPSIS of a program with commands. */
export function synopsis(program: string): readonly string[] {
  return [
    ".SH SYNOPSIS",
    `.SY ${literal(program)}`,
    `${italic("COMMAND")} [${italic("FLAG")}...] [${italic("ARGUMENT")}...]`,
    ".YS",
  ];
}

/** A paragraph with a term. */
export function term(tag: string, text: string): readonly string[] {
  return [".TP", tag, text];
}

/** Preformatted lines. */
export function example(lines: readonly string[]): readonly string[] {
  return [".PP", ".nf", ".RS 4", ...lines.map(literal), ".RE", ".fi"];
}

function escape(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll(/^([.'])/gm, "\\&$1")
    .replaceAll(
      /[^\n -~]/gu,
      (sign) => `\\[u${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    );
}
