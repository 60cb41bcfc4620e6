import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { OperatorContext } from "../context.ts";

/** The file cannot be used: `too-large`, or an errno code. */
export interface UnreadFile {
  readonly code: string;
}

/** Reads a file that a flag names, or stdin for `-`. */
export async function readGiven(
  path: string,
  limitBytes: number,
  { machine, readInput }: OperatorContext,
): Promise<Uint8Array | UnreadFile> {
  if (path === "-") {
    const text = await readInput(limitBytes);
    return text === "too-large" ? { code: text } : new TextEncoder().encode(text);
  }
  try {
    const bytes = await readBounded(machine.files, path, limitBytes);
    return bytes === "too-large" ? { code: bytes } : bytes;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return { code };
  }
}
