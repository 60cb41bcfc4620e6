/** The configuration digest by its definition, independent of the agent's code. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Digest of files with these contents. */
export function digestOfContents(...contents: readonly (string | Uint8Array)[]): string {
  const sums = contents.map((content) => `${sha256(content)}\n`);
  return `sha256:${sha256(sums.join(""))}`;
}

export async function digestOfFiles(...paths: readonly string[]): Promise<string> {
  return digestOfContents(...(await Promise.all(paths.map((path) => readFile(path)))));
}

/** The same by standard tools, as users can compute it. It starts four programs; use it only to test exactly this. */
export async function digestByTools(...paths: readonly string[]): Promise<string> {
  const command = 'sha256sum "$@" | cut -c1-64 | sha256sum';
  const { stdout } = await promisify(execFile)("sh", ["-c", command, "sh", ...paths]);
  return `sha256:${stdout.slice(0, 64)}`;
}

function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
