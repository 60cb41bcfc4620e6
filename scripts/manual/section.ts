/** Sections of a reference, made once from the code and rendered twice: as Markdown and as a part of a manual page. */
import { bold, example, italic, prose, term } from "./roff.ts";

export interface Section {
  readonly title: string;
  readonly blocks: readonly Block[];
}

/** In texts and cells, backquotes mark what can be typed. */
export type Block =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "heading"; readonly text: string }
  | Table
  /** Lines to type, on manual pages alone: the blocks of Markdown pages are run by a test. */
  | { readonly kind: "example"; readonly lines: readonly string[] };

export interface Table {
  readonly kind: "table";
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function text(sentences: string): Block {
  return { kind: "text", text: sentences };
}

export function heading(words: string): Block {
  return { kind: "heading", text: words };
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): Table {
  return { kind: "table", head, rows };
}

/** Two columns: a word that can be typed, and its meaning. */
export function meanings(head: string, rows: Readonly<Record<string, string>>): Table {
  return table(
    [head, "meaning"],
    Object.entries(rows).map(([word, meaning]) => [`\`${word}\``, meaning]),
  );
}

/** A summary of the help as a sentence. An explained value, `acl: …`, keeps its case. */
export function sentence(words: string): string {
  const whole = /[.!?]$/.test(words) ? words : `${words}.`;
  return /^[a-z_]+:/.test(whole) ? whole : whole.charAt(0).toUpperCase() + whole.slice(1);
}

export function markdownOf({ title, blocks }: Section): string {
  const parts = blocks.flatMap((block) => {
    switch (block.kind) {
      case "text":
        return block.text;
      case "heading":
        return `### ${block.text}`;
      case "table":
        return markdownTable(block);
      case "example":
        return [];
    }
  });
  return [`## ${title}`, ...parts].join("\n\n");
}

/** Aligned as oxfmt does it. */
function markdownTable({ head, rows }: Table): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0), 3));
  const lineOf = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [first = "", ...others] = cells.map(lineOf);
  return [first, lineOf(widths.map((width) => "-".repeat(width))), ...others].join("\n");
}

export function roffOf({ title, blocks }: Section): readonly string[] {
  return [`.SH ${title.toUpperCase()}`, ...blocks.flatMap(roffOfBlock)];
}

function roffOfBlock(block: Block): readonly string[] {
  switch (block.kind) {
    case "text":
      return [".PP", inline(block.text)];
    case "heading":
      return [`.SS ${inline(block.text)}`];
    case "table":
      return block.rows.flatMap((row) => roffOfRow(block.head, row));
    case "example":
      return example(block.lines);
  }
}

/** A term, what the second column says of it, and the other columns with their heads. */
function roffOfRow(head: readonly string[], [tag = "", meaning = "", ...others]: readonly string[]): readonly string[] {
  const more = others.flatMap((cell, index) =>
    cell === "" ? [] : inline(sentence(`${sentence(head[index + 2] ?? "").slice(0, -1)}: ${cell}`)),
  );
  return term(inline(tag), [inline(sentence(meaning)), ...more].join("\n"));
}

/** Text without the targets of links, with its backquoted words in bold, and placeholders such as `<file>` in italics. */
function inline(words: string): string {
  return words
    .replaceAll(/\[([^\]]+)\]\([^)\s]+\)/g, "$1")
    .split("`")
    .map((part, index) => (index % 2 === 0 ? prose(part) : typed(part)))
    .join("");
}

function typed(words: string): string {
  return words
    .split(/(<[^>]*>)/)
    .filter((part) => part !== "")
    .map((part) => (part.startsWith("<") ? italic(part.slice(1, -1)) : bold(part)))
    .join("");
}
