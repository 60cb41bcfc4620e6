import { resolve } from "node:path";

import type { FileFinding } from "../../look/findings.ts";
import { createLook } from "../../look/look.ts";
import { requestsFor, type Snapshot, takeSnapshot } from "../../look/snapshot.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";

/** The agent's default. */
const FILE_LIMIT_BYTES = 1024 ** 3;

/** The configuration digest of these files, as the agent computes it. @returns an exit code after reporting a file that cannot be read. */
export async function hashFiles(
  paths: readonly string[],
  { machine, terminal, signal }: OperatorContext,
): Promise<Snapshot | ExitCode> {
  const files = paths.map((path, entry) => ({ label: path, path: resolve(path), entry }));
  const looked = await createLook(machine).at(requestsFor(files, FILE_LIMIT_BYTES), 0, {
    settle: false,
    signal,
    onProgress: (done, total) => terminal.progress("hashing", total === 0 ? 1 : done / total),
  });
  terminal.progress("", 1);
  if (looked.kind === "unsettled") throw new Error("Files that were looked at as they are did not settle");
  const taken = await takeSnapshot(machine.files, files, looked, FILE_LIMIT_BYTES);
  if (taken.kind === "snapshot") {
    for (const { message } of taken.warnings) terminal.note(message);
    return taken.snapshot;
  }
  for (const { id, path } of taken.findings) terminal.problem({ code: id, ...WORDS[id], where: path });
  return EXIT.invalid;
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
  device_missing: { what: "there is no such device", fix: "register on the robot" },
  device_unusable: { what: "this is no device", fix: "register on the robot" },
  file_unparseable: { what: "the content does not have the format of the file's extension", fix: "check it" },
};
