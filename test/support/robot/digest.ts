/** The configuration digest by its definition, with nothing of the agent's. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Of files that hold these contents. */
export function digestOfContents(...contents: readonly (string | Uint8Array)[]): string {
  const sums = contents.map((content) => `${sha256(content)}\n`);
  return `sha256:${sha256(sums.join(""))}`;
}

/** Of these files as they are now. */
export async function digestOfFiles(...paths: readonly string[]): Promise<string> {
  return digestOfContents(...(await Promise.all(paths.map((path) => readFile(path)))));
}

/** The same with standard tools, as anyone can make it; four programs, so only where that is what is tested. */
export async function digestByTools(...paths: readonly string[]): Promise<string> {
  const command = 'sha256sum "$@" | cut -c1-64 | sha256sum';
  const { stdout } = await promisify(execFile)("sh", ["-c", command, "sh", ...paths]);
  return `sha256:${stdout.slice(0, 64)}`;
}

function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
