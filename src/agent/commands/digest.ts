import { isError } from "../../documents/findings.ts";
import { explainDigest } from "../../look/digest.ts";
import { EXIT } from "../../platform/terminal.ts";
import { resolveFolders } from "../configuration/folders.ts";
import { describeFiles } from "../describe-agent.ts";
import { documentFindings, type LocatedFinding } from "../findings.ts";
import { namesOf, openOneShot } from "../one-shot.ts";
import type { Command, CommonOptions } from "./context.ts";
import { hashProgress, showFindings, showProblem } from "./show.ts";

export interface DigestOptions extends CommonOptions {
  /** Explain how the digest is computed, with a shell command for it. */
  readonly explain?: boolean;
}

/** `digest`: prints the configuration digest of the files on disk. */
export const digest: Command<DigestOptions> = async (options, context) => {
  const { terminal } = context;
  const opened = await openOneShot({
    machine: context.machine,
    folders: resolveFolders(options, context.environment),
    state: "unread",
    onProgress: hashProgress(terminal),
  });
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
  else if (options.explain === true) for (const line of explainDigest(snapshot)) terminal.print(line);
  else terminal.print(snapshot.digest);
  return EXIT.ok;

  async function refuse(found: readonly LocatedFinding[]): Promise<typeof EXIT.invalid> {
    if (options.json === true) terminal.json({ digest: null, files: [], findings: found });
    else await showFindings(found, context);
    return EXIT.invalid;
  }
};
