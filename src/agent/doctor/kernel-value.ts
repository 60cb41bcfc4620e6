import { readBounded } from "../../platform/files/durable-file.ts";
import type { Files } from "../../platform/files/files.ts";

const VALUE_LIMIT_BYTES = 64;

/** A value that the kernel shows as a file (proc(5), sysfs(5)); null where it does not, as in some containers. */
export async function readKernelValue(files: Files, path: string): Promise<string | null> {
  const bytes = await readBounded(files, path, VALUE_LIMIT_BYTES).catch(() => "too-large" as const);
  return bytes === "too-large" ? null : Buffer.from(bytes).toString("latin1").trim();
}
