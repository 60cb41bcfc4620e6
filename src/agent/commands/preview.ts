/** `--setup --dry-run`: shows the request, and whether it would be sent. Sends and writes nothing. */
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { findDenials, withDenials } from "../access/check-access.ts";
import type { Folders } from "../configuration/folders.ts";
import { decide, type Wanted } from "../decide.ts";
import { describeFiles } from "../describe-agent.ts";
import { documentFindings } from "../findings.ts";
import { describeChanges } from "../changes.ts";
import { readHoldNow } from "../hold.ts";
import { changesOf, collectSettled, describeOneShot, type OneShot, openOneShot } from "../one-shot.ts";
import { exitCodeOf, statusProblem } from "../states.ts";
import type { CommandContext, CommonOptions } from "./context.ts";
import { hashProgress, refuseFindings, showFindings, showProblem } from "./show.ts";

export interface SetupOptions extends CommonOptions {
  /** Show what would be sent. Sends and writes nothing. */
  readonly dryRun?: boolean;
  /** Do nothing when the service already has this registration. */
  readonly ifChanged?: boolean;
}

export async function dryRun(folders: Folders, options: SetupOptions, context: CommandContext): Promise<ExitCode> {
  const { machine, terminal } = context;
  const opened = await openOneShot({ machine, folders, state: "read", onProgress: hashProgress(terminal) });
  switch (opened.kind) {
    case "problem":
      return showProblem(opened.problem, {}, options, terminal);
    case "invalid":
      return refuseFindings(documentFindings(opened.configuration), NOTHING_SENT, options, context);
    case "opened":
      return preview(opened.oneShot, folders, options, context);
  }
}

const WOULD = {
  register: "Would send",
  nothing: "Would send nothing, unless the service lost it:",
  wait: "Held (by whom: robot-policy-agent status); would send once released:",
  refuse: "Would not send:",
} as const;

const NOTHING_SENT = { would: "refuse", method: "POST", url: null, request: null, files: [] };

async function preview(
  oneShot: OneShot,
  folders: Folders,
  options: SetupOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { collector, registration } = oneShot;
  const { terminal, machine } = context;
  const denials = await findDenials(oneShot, folders, context);
  const collected = await collectSettled(oneShot, context.signal);
  const wanted: Wanted = denials.length > 0 ? { kind: "invalid" } : collected.wanted;
  const findings = withDenials(collector.findings, denials);
  const reading = await readHoldNow(folders, context);
  const decision = decide({
    wanted,
    registration,
    lastFailure: null,
    credentialVersion: "",
    machine: collected.machineId,
    serviceUrl: collector.configuration.service.url,
    route: "",
    held: null,
    isNameApproved: collector.isNameApproved,
    holdUntilMs: reading.kind === "held" ? reading.hold.untilMs : null,
    forced: options.ifChanged !== true,
    rateCappedUntilMs: Number.NEGATIVE_INFINITY,
    nowMs: machine.clock.monotonicMs(),
  });
  const request = wanted.kind === "body" ? wanted.body : null;
  const files = describeFiles(collector.snapshot?.files ?? []);
  const changes = await changesOf(oneShot, wanted);
  const url = `${collector.configuration.service.url}/v1/robots/setup`;
  if (options.json === true) {
    terminal.json({ would: decision.kind, method: "POST", url, request, files, findings, changes });
  } else {
    await showFindings(findings, context);
    if (request !== null) {
      terminal.print(`${WOULD[decision.kind]} POST ${url}`);
      terminal.printText(JSON.stringify(request, null, 2));
      terminal.table(
        ["sha256", "bytes", "file"],
        files.map(({ sha256, bytes, path }) => [sha256, String(bytes), path]),
      );
      if (changes !== null) for (const line of describeChanges(changes, machine.clock.wallMs())) terminal.print(line);
    }
  }
  if (decision.kind !== "refuse") return EXIT.ok;
  const status = describeOneShot(oneShot, decision.reason);
  const problem = statusProblem(status);
  if (problem !== null) terminal.problem(problem);
  return exitCodeOf(status);
}
