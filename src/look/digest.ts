import { sha256Hex } from "../platform/crypto.ts";
import { shellWord } from "../platform/text/shell-word.ts";

/** A file of the digest. */
export interface HashedFile {
  readonly label: string;
  readonly path: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  readonly bytes: number;
  /** Of a device, what was hashed: the line that says what it is. */
  readonly line?: string;
  /** The manifest shares the content with the service. */
  readonly share?: boolean;
}

/**
 * The configuration digest: SHA-256 over each file's lower-case hex SHA-256 and one line feed, in manifest order.
 *
 * The line feeds frame the files, so moving a line from the end of one file to the start of the next changes the digest.
 * No files give the SHA-256 of nothing. The same by hand: `sha256sum A B C | cut -c1-64 | sha256sum`.
 *
 * @param sha256s 64 lower-case hex digits per file.
 * @returns `sha256:` and 64 lower-case hex digits, the format of `configuration_digest` in the API.
 */
export function configurationDigest(sha256s: readonly string[]): string {
  return `sha256:${sha256Hex(hashedText(sha256s))}`;
}

/** The text whose SHA-256 is the digest. */
function hashedText(sha256s: readonly string[]): string {
  return sha256s.map((sha256) => `${sha256}\n`).join("");
}

/** When a name contains one of these, sha256sum starts the line with a backslash, and `cut -c1-64` would lose a digit. */
const ESCAPED_BY_SHA256SUM = /[\\\n\r]/;

interface Explained {
  readonly digest: string;
  readonly files: readonly HashedFile[];
}

/** Explains how the digest is computed, with a shell command that computes it without this program. */
export function explainDigest({ digest, files }: Explained): readonly string[] {
  return [
    ...describeText(files),
    "",
    `Its SHA-256 is the configuration digest: ${digest}`,
    "",
    "The same with standard tools:",
    `  ${repeatCommand(files)}`,
  ];
}

/** A POSIX shell command that prints the hex digits of the configuration digest, followed by ` -`. */
export function repeatCommand(files: readonly Pick<HashedFile, "path" | "line">[]): string {
  // Without a name sha256sum would wait for standard input.
  if (files.length === 0) return "printf '' | sha256sum";
  const isPlain = files.every(({ path, line }) => line === undefined && !ESCAPED_BY_SHA256SUM.test(path));
  const hashes = isPlain
    ? `sha256sum ${files.map(({ path }) => shellWord(path)).join(" ")}`
    : `{ ${files.map(hashCommand).join("; ")}; }`;
  return `${hashes} | cut -c1-64 | sha256sum`;
}

function hashCommand({ path, line }: Pick<HashedFile, "path" | "line">): string {
  return line === undefined ? `sha256sum < ${shellWord(path)}` : `printf %s ${shellWord(line)} | sha256sum`;
}

function describeText(files: readonly HashedFile[]): readonly string[] {
  if (files.length === 0) return ["No configuration files are listed, so the text that is hashed is empty."];
  const lines = hashedText(files.map(({ sha256 }) => sha256)).split("\n");
  return [
    "The hashed text is one line per file, in the order of the manifest: the SHA-256 of the file's bytes and a line feed:",
    "",
    ...files.flatMap((file, index) => [
      `  ${lines[index] ?? ""}  ${describeFile(file)}`,
      ...(file.line === undefined ? [] : [`    of the line ${file.line}`]),
    ]),
    "",
    "Each line is the 64 digits and the line feed, without file names, times or modes.",
  ];
}

function describeFile({ label, path, bytes, line, share }: HashedFile): string {
  const size = line === undefined ? (bytes === 1 ? "1 byte" : `${bytes} bytes`) : "what the device is";
  const facts = [...(label === path ? [] : [label]), size, ...(share === true ? ["shared"] : [])];
  return `${path} (${facts.join(", ")})`;
}
