import { isError } from "../../documents/findings.ts";
import { explainDigest } from "../../look/digest.ts";
import { EXIT } from "../../platform/terminal.ts";
import { resolveFolders } from "../configuration/folders.ts";
import { describeFiles } from "../describe-agent.ts";
import { documentFindings, type LocatedFinding } from "../findings.ts";
import { describeChanges } from "../changes.ts";
import { changesOf, namesOf, openOneShot } from "../one-shot.ts";
import type { Command, CommonOptions } from "./context.ts";
import { hashProgress, showFindings, showProblem } from "./show.ts";

export interface DigestOptions extends CommonOptions {
  /** Explain how the digest is computed, with a shell command for it. */
  readonly explain?: boolean;
}

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
    return showProblem(opened.problem, { digest: null, files: [], findings: [] }, options, terminal);
  }
  if (opened.kind === "invalid") return refuse(documentFindings(opened.configuration));
  const { collector } = opened.oneShot;
  await collector.collect(false, namesOf(opened.oneShot.identity), context.signal);
  const { snapshot, findings } = collector;
  if (snapshot === null || findings.some(isError)) return refuse(findings);
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

  async function refuse(found: readonly LocatedFinding[]): Promise<typeof EXIT.invalid> {
    if (options.json === true) terminal.json({ digest: null, files: [], findings: found });
    else await showFindings(found, context);
    return EXIT.invalid;
  }
};
