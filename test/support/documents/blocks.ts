/** The command blocks of the pages by name, for the tests that run them. */
import { commandsOf, plainCommand } from "./commands.ts";
import { type Block, blocksOf, readPages } from "./pages.ts";

/** What a person types or copies into a file. */
const LANGUAGES = /^(?:sh|console|yaml|ini|haproxy)$/;

/** Every block, by page and first line: `README.md: scripts/quickstart`. @throws if two have one name. */
export async function namedBlocks(): Promise<ReadonlyMap<string, Block>> {
  const found = (await readPages()).flatMap(blocksOf).filter(({ language }) => LANGUAGES.test(language));
  const blocks = new Map(found.map((block) => [nameOf(block), block]));
  if (blocks.size < found.length) throw new Error("Two blocks of a page begin with the same line");
  return blocks;
}

/** @throws if the pages have no such block. */
export async function pageBlock(name: string): Promise<Block> {
  const block = (await namedBlocks()).get(name);
  if (block === undefined) throw new Error(`No page has the block ${name}`);
  return block;
}

/** The lines of a block for a shell of root: without `sudo`. */
export function rootScript({ text }: Block): string {
  return text.replaceAll(/\bsudo (?:-u \S+ )?/g, "");
}

/** Page and first line, without prompt, comment and continuation. */
function nameOf({ place, text }: Block): string {
  const [line = ""] = text.split("\n");
  const words = line.replace(/^\$ /, "").replace(/(?<=\S)\s+#.*$|\s*\\$/g, "");
  return `${place.replace(/:\d+$/, "")}: ${words.trimEnd()}`;
}

/** The arguments of the only command of the block. */
export function argvOf(block: Block): readonly string[] {
  const [command = []] = commandsOf(block);
  return plainCommand(command).slice(1);
}

export function bytesOf(block: Block): Uint8Array {
  return Buffer.from(block.text);
}
