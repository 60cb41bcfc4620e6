/** The pages of the repository, for the tests that hold them to the code. */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../../..");

export interface Page {
  /** From the root: `src/README.md`. */
  readonly path: string;
  readonly text: string;
}

export interface Block {
  /** `sh`, `console`, `yaml`; empty for a picture. */
  readonly language: string;
  /** Without the indentation of a list. */
  readonly text: string;
  /** `src/README.md:120`, for messages. */
  readonly place: string;
}

export async function readPages(): Promise<readonly Page[]> {
  const paths = await Array.fromAsync(glob("**/*.md", { cwd: ROOT, exclude: ["**/node_modules/**", "dist/**"] }));
  return Promise.all(paths.toSorted().map(readPage));
}

export async function readPage(path: string): Promise<Page> {
  return { path, text: await readFile(join(ROOT, path), "utf8") };
}

const FENCED = /^( *)```(\w*)[^\n]*\n(.*?)^\1```$/gms;

/** Its code blocks, in order. */
export function blocksOf({ path, text }: Page): readonly Block[] {
  return [...text.matchAll(FENCED)].map(({ index, 1: indent = "", 2: language = "", 3: body = "" }) => ({
    language,
    text: body.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    place: `${path}:${text.slice(0, index).split("\n").length}`,
  }));
}

/** The page without its code blocks, in which nothing is a link or a heading. */
export function proseOf({ text }: Page): string {
  return text.replaceAll(FENCED, "");
}
