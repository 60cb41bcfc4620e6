import { shellWord } from "../platform/text/shell-word.ts";
import { hashedText } from "./digest.ts";
import type { Snapshot } from "./snapshot.ts";

/** sha256sum starts the line with a backslash when the name holds one of these, which would shift what `cut` keeps. */
const ESCAPED_BY_SHA256SUM = /[\\\n\r]/;

/** Lines that show a person how the digest is made, and the command that makes it again without this program. */
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
    "The SHA-256 of each file's bytes, in the order of the manifest, each followed by one line feed, is the text that is hashed:",
    "",
    ...files.map(({ label, path, bytes }, index) => `  ${lines[index] ?? ""}  ${describeFile(label, path, bytes)}`),
    "",
    "Only the 64 digits and the line feed count: no names, no times, no modes.",
  ];
}

function describeFile(label: string, path: string, bytes: number): string {
  const size = bytes === 1 ? "1 byte" : `${bytes} bytes`;
  return label === path ? `${path} (${size})` : `${path} (${label}, ${size})`;
}
