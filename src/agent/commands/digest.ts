import { isError } from "../../documents/findings.ts";
import { explainDigest } from "../../look/digest.ts";
import { EXIT } from "../../platform/terminal.ts";
import { resolveFolders } from "../configuration/folders.ts";
import { describeFiles } from "../describe-agent.ts";
import { documentFindings } from "../findings.ts";
import { describeChanges } from "../changes.ts";
import { changesOf, collectNow, openOneShot } from "../one-shot.ts";
import type { Command, CommonOptions } from "./context.ts";
import { hashProgress, refuseFindings, showProblem } from "./show.ts";

export interface DigestOptions extends CommonOptions {
  /** Explain how the digest is computed, with a shell command for it. */
  readonly explain?: boolean;
}

const NO_DIGEST = { digest: null, files: [], findings: [] };

/** `digest`: prints the configuration digest of the files on disk. */
export const digest: Command<DigestOptions> = async (options, context) => {
  const { terminal } = context;
  const how = {
    machine: context.machine,
    folders: resolveFolders(options, context.environment),
    onProgress: hashProgress(terminal),
  };
  // Only the explanation says what changed since the registration, to those who may read that.
  const known = options.explain === true ? await openOneShot({ ...how, state: "read" }) : null;
  const opened = known === null || known.kind === "problem" ? await openOneShot({ ...how, state: "unread" }) : known;
  if (opened.kind === "problem") {
    return showProblem(opened.problem, NO_DIGEST, options, terminal);
  }
  if (opened.kind === "invalid")
    return refuseFindings(documentFindings(opened.configuration), NO_DIGEST, options, context);
  const { collector } = opened.oneShot;
  await collectNow(opened.oneShot, context.signal);
  const { snapshot, findings } = collector;
  if (snapshot === null || findings.some(isError)) return refuseFindings(findings, NO_DIGEST, options, context);
  const files = describeFiles(snapshot.files);
  if (options.json === true) terminal.json({ digest: snapshot.digest, files });
  else if (options.explain === true) {
    for (const line of explainDigest(snapshot)) terminal.print(line);
    const changes = await changesOf(opened.oneShot, null);
    const lines = changes === null ? [] : describeChanges(changes, context.machine.clock.wallMs());
    if (lines.length > 0) terminal.print("");
    for (const line of lines) terminal.print(line);
  } else terminal.print(snapshot.digest);
  return EXIT.ok;
};
