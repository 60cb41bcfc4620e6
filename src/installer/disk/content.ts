import { createHash } from "node:crypto";

import type { Secret } from "../../client/secret.ts";
import type { Disk, Pieces } from "./disk.ts";

/** The content of a file to write. */
export type Content =
  | { readonly kind: "text"; readonly text: string }
  /** An API key, which must appear nowhere but in the file. */
  | { readonly kind: "secret"; readonly secret: Secret }
  /** A file of the machine that the installer runs on. */
  | { readonly kind: "copy"; readonly from: string };

export interface Measured {
  readonly content: Content;
  /** Hex. */
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** @param host the disk that copies are read from. */
export function piecesOf(content: Content, host: Disk): Pieces {
  switch (content.kind) {
    case "text":
      return [Buffer.from(content.text)];
    case "secret":
      return [Buffer.from(`${content.secret.reveal()}\n`)];
    case "copy":
      return host.pieces(content.from);
  }
}

export async function measure(content: Content, host: Disk): Promise<Measured> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const piece of piecesOf(content, host)) {
    hash.update(piece);
    sizeBytes += piece.byteLength;
  }
  return { content, sha256: hash.digest("hex"), sizeBytes };
}

/** Hex SHA-256 of a file in the tree. */
export async function digestOf(disk: Disk, path: string): Promise<string> {
  return (await measure({ kind: "copy", from: path }, disk)).sha256;
}
