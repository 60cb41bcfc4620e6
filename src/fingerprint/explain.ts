import { shellWord } from "../platform/text/shell-word.ts";
import { hashedText } from "./digest.ts";
import type { Snapshot } from "./snapshot.ts";

/** When a name contains one of these, sha256sum starts the line with a backslash, and `cut -c1-64` would lose a digit. */
const ESCAPED_BY_SHA256SUM = /[\\\n\r]/;

/** Explains how the digest is computed, with a shell command that computes it without this program. */
export function explainDigest({ digest, files }: Pick<Snapshot, "digest" | "files">): readonly string[] {
  const paths = files.map(({ path }) => path);
  return [
    ...describeText(files),
    "",
    `Its SHA-256 is the configuration digest: ${digest}`,
    "",
    "The same with standard tools:",
    `  ${repeatCommand(paths)}`,
  ];
}

/** A POSIX shell command that prints the hex digits of the configuration digest, followed by ` -`. */
export function repeatCommand(paths: readonly string[]): string {
  // Without a name sha256sum would wait for standard input.
  if (paths.length === 0) return "printf '' | sha256sum";
  const hashes = paths.some((path) => ESCAPED_BY_SHA256SUM.test(path))
    ? `for file in ${paths.map(shellWord).join(" ")}; do sha256sum < "$file"; done`
    : `sha256sum ${paths.map(shellWord).join(" ")}`;
  return `${hashes} | cut -c1-64 | sha256sum`;
}

function describeText(files: Snapshot["files"]): readonly string[] {
  if (files.length === 0) return ["No configuration files are listed, so the text that is hashed is empty."];
  const lines = hashedText(files.map(({ sha256 }) => sha256)).split("\n");
  return [
    "The hashed text is one line per file, in the order of the manifest: the SHA-256 of the file's bytes and a line feed:",
    "",
    ...files.map(({ label, path, bytes }, index) => `  ${lines[index] ?? ""}  ${describeFile(label, path, bytes)}`),
    "",
    "Each line is the 64 digits and the line feed, without file names, times or modes.",
  ];
}

function describeFile(label: string, path: string, bytes: number): string {
  const size = bytes === 1 ? "1 byte" : `${bytes} bytes`;
  return label === path ? `${path} (${size})` : `${path} (${label}, ${size})`;
}
