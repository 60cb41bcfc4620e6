import { resolve } from "node:path";

import type { FileFinding } from "../../fingerprint/findings.ts";
import { createFingerprinter } from "../../fingerprint/fingerprint.ts";
import type { Snapshot } from "../../fingerprint/snapshot.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";

/** The agent's default. */
const FILE_LIMIT_BYTES = 1024 ** 3;

/** The configuration digest of these files, as the agent computes it. @returns an exit code after reporting a file that cannot be read. */
export async function hashFiles(
  paths: readonly string[],
  { machine, terminal, signal }: OperatorContext,
): Promise<Snapshot | ExitCode> {
  const limits = { settleMs: 0, graceMs: 0, fileLimitBytes: FILE_LIMIT_BYTES };
  const fingerprinter = createFingerprinter(machine, limits);
  const files = paths.map((path) => ({ label: path, path: resolve(path) }));
  const collected = await fingerprinter.collect(files, {
    settle: false,
    signal,
    onProgress: (done, total) => terminal.progress("hashing", total === 0 ? 1 : done / total),
  });
  terminal.progress("", 1);
  switch (collected.kind) {
    case "snapshot":
      for (const { message } of collected.warnings) terminal.note(message);
      return collected.snapshot;
    case "unsettled":
      // Only a caller that asks for settling gets this result.
      throw new Error("Files that were looked at as they are did not settle");
    case "refused":
      for (const { id, path } of collected.findings) {
        terminal.problem({ code: id, ...WORDS[id], where: path });
      }
      return EXIT.invalid;
  }
}

/** The findings' own messages speak of the agent, its user and its manifest. */
const WORDS: Readonly<Record<FileFinding["id"], { readonly what: string; readonly fix: string }>> = {
  file_missing: { what: "there is no such file", fix: "correct the path" },
  file_unreadable: { what: "the file cannot be read", fix: "let this user read it" },
  file_not_regular: { what: "this is not a regular file", fix: "name the files themselves" },
  file_too_large: {
    what: `the file is larger than ${FILE_LIMIT_BYTES} bytes`,
    fix: "name only files that configure the robot",
  },
  file_unstable: { what: "the file kept changing while it was read", fix: "stop the program that writes it" },
  file_restless: { what: "the file keeps changing", fix: "stop the program that writes it" },
  file_held_open: { what: "a program has the file open for writing", fix: "stop that program" },
  file_unparseable: { what: "the content does not have the format of the file's extension", fix: "check it" },
};
