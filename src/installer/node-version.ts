import type { RunProgram } from "../platform/programs.ts";
import type { Disk } from "./disk.ts";
import type { ElfHeader } from "./elf.ts";
import type { InstallerProblem } from "./installer.ts";
import { refusal } from "./installer.ts";

/** The oldest Node that the agent is for (package.json, engines). */
const OLDEST_NODE = 24;
/** A Node says so at once; one that is emulated takes longer. */
const RUN_LIMIT_MS = 20_000;
/** Twice what the largest Node has. */
const FILE_LIMIT_BYTES = 512 * 1024 * 1024;
/** What `node --version` prints. */
const PRINTED = /^v(\d+)\.\d+\.\d+\S*\n$/;
/** What every Node has in it: its user agent, and where its headers are. */
const MARKED = /node(?:\.js\/|-)v(\d+)\.\d+\.\d+/g;
/** Longer than any mark: the end of a piece, looked at again with the next one. */
const OVERLAP_CHARACTERS = 64;

/**
 * Makes sure that a file is a Node of an age that will do: asks it, and where it cannot run here, as one for another processor, looks
 * for its version in it.
 */
export async function findWrongNode(
  { path, libraries }: { readonly path: string } & Pick<ElfHeader, "libraries">,
  runProgram: RunProgram,
  host: Disk,
): Promise<InstallerProblem | null> {
  const told = await askVersion(path, runProgram);
  // A distribution's Node may be all library: the program itself then names no version.
  if (told === null && libraries.some((library) => library.startsWith("libnode.so"))) return null;
  const major = told ?? (await searchVersion(path, host));
  if (major !== null && major >= OLDEST_NODE) return null;
  const fix = `give the file bin/node of a Node ${OLDEST_NODE} or newer: --node FILE`;
  return major === null
    ? refusal({ code: "not-a-node", what: "this program is no Node", where: path, fix })
    : refusal({
        code: "node-too-old",
        what: `this is Node ${major}, which is too old for the agent`,
        where: path,
        fix,
      });
}

async function askVersion(path: string, runProgram: RunProgram): Promise<number | null> {
  const result = await runProgram([path, "--version"], { limit_ms: RUN_LIMIT_MS });
  return result.kind === "ended" && result.exit_code === 0 ? majorOf(PRINTED.exec(result.stdout)) : null;
}

/** The newest version that it names: a Node names its own, and old ones in remarks. */
async function searchVersion(path: string, host: Disk): Promise<number | null> {
  let rest = "";
  let read_bytes = 0;
  let newest: number | null = null;
  for await (const piece of host.pieces(path)) {
    read_bytes += piece.byteLength;
    if (read_bytes > FILE_LIMIT_BYTES) break;
    const text = rest + Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString("latin1");
    for (const match of text.matchAll(MARKED)) newest = Math.max(newest ?? 0, majorOf(match) ?? 0);
    rest = text.slice(-OVERLAP_CHARACTERS);
  }
  return newest;
}

function majorOf(match: RegExpMatchArray | null): number | null {
  return match?.[1] === undefined ? null : Number(match[1]);
}
