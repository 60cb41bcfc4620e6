import { dirname, join } from "node:path";

import { EXIT } from "../../platform/terminal.ts";
import { documentFindings } from "../findings.ts";
import { resolveFolders } from "../folders.ts";
import { collectSettled, openOneShot } from "../one-shot.ts";
import { openManifest } from "../open.ts";
import type { Command, CommonOptions } from "./context.ts";
import { hashProgress, hasError, showFindings } from "./show-findings.ts";
import { showProblem } from "./show-problem.ts";

export interface CheckOptions extends CommonOptions {
  /** Warnings fail too. */
  readonly strict?: boolean;
}

/** `check`: everything that is wrong with configuration, manifest and files, all at once. No network, nothing written. */
export const check: Command<CheckOptions> = async (options, context) => {
  const { machine, terminal } = context;
  const opened = await openOneShot({
    machine,
    folders: resolveFolders(options, context.environment),
    state: "unread",
    onProgress: hashProgress(terminal),
  });
  if (opened.kind === "problem") {
    return showProblem(opened.problem, { valid: false, findings: [], request: null }, options, terminal);
  }
  if (opened.kind === "invalid") {
    // Which manifest is meant is not known; the one beside it is the one that most installations have.
    const manifest = openManifest(machine, join(dirname(opened.configuration.path), "robot-manifest.yaml"), () => 0);
    await manifest.refresh(false);
    const findings = [...documentFindings(opened.configuration), ...documentFindings(manifest)];
    if (options.json === true) terminal.json({ valid: false, findings, request: null });
    else await showFindings(findings, context);
    return EXIT.invalid;
  }
  const { one_shot } = opened;
  const { wanted } = await collectSettled(one_shot, context.signal);
  const { findings } = one_shot.collector;
  const is_valid = !hasError(findings) && !(options.strict === true && findings.length > 0);
  const request = wanted.kind === "body" ? wanted.body : null;
  if (options.json === true) {
    terminal.json({ valid: is_valid, findings, request });
  } else {
    await showFindings(findings, context);
    if (is_valid)
      terminal.print(
        `${terminal.style("good", "ok")} ${one_shot.collector.robot_name}: ${request?.configuration_digest ?? "draft, not registered"}`,
      );
  }
  return is_valid ? EXIT.ok : EXIT.invalid;
};
