import { isError } from "../../documents/findings.ts";
import { explainDigest } from "../../look/digest.ts";
import { EXIT } from "../../platform/terminal.ts";
import { describeFiles } from "../describe-agent.ts";
import { describeChanges } from "../changes.ts";
import { changesOf } from "../one-shot.ts";
import type { Command, CommonOptions } from "./context.ts";
import { openToRead, refuseFindings } from "./show.ts";

export interface DigestOptions extends CommonOptions {
  /** Explain how the digest is computed, with a shell command for it. */
  readonly explain?: boolean;
}

const NO_DIGEST = { digest: null, files: [], findings: [] };

/** `digest`: prints the configuration digest of the files on disk. */
export const digest: Command<DigestOptions> = async (options, context) => {
  const { terminal } = context;
  const isExplained = options.explain === true;
  // Only the explanation says what changed since the registration, to those who may read that.
  const opened = await openToRead(isExplained ? "optional" : "unread", NO_DIGEST, options, context);
  if (typeof opened === "number") return opened;
  const { collector, names } = opened;
  await collector.collect(false, names, context.signal);
  const { snapshot, findings } = collector;
  if (snapshot === null || findings.some(isError)) return refuseFindings(findings, NO_DIGEST, options, context);
  if (options.json === true) terminal.json({ digest: snapshot.digest, files: describeFiles(snapshot.files) });
  else if (isExplained) {
    for (const line of explainDigest(snapshot)) terminal.print(line);
    const changes = await changesOf(opened, null);
    const lines = changes === null ? [] : describeChanges(changes, context.machine.clock.wallMs());
    if (lines.length > 0) terminal.print("");
    for (const line of lines) terminal.print(line);
  } else terminal.print(snapshot.digest);
  return EXIT.ok;
};
