import { join } from "node:path";

import { EXIT, type ExitCode, type Terminal } from "../platform/terminal.ts";
import { shellWord } from "../platform/text/shell-word.ts";
import type { ServiceOutcome } from "./apply/apply.ts";
import type { UnitSeen } from "./apply/system.ts";
import { CONFIGURATION_FOLDER, NAME, SERVICE_UNIT } from "./layout.ts";
import type { Provisioned } from "./plan/observation.ts";
import type { Installation } from "./plan/prepare.ts";
import { describeStep, type Step, stepForJson } from "./plan/step.ts";

export interface Shown {
  readonly terminal: Terminal;
  readonly isJson: boolean;
  /** How a shell calls this program, which fills an image from a checkout, too. */
  readonly program: string;
}

/** `--dry-run`: lists every change. */
export function showPlanned(installation: Installation, { terminal, isJson }: Shown): void {
  if (isJson) {
    terminal.json({ ...describe(installation), dry_run: true });
    return;
  }
  for (const step of changesOf(installation)) terminal.print(`would ${describeStep(step)}`);
  if (!isChange(installation)) terminal.print(nothingToChange(installation));
  showNotes(installation, terminal);
}

export interface Done {
  readonly outcome: ServiceOutcome;
  /** Its state after the installation; null in an image. */
  readonly service: UnitSeen | null;
  readonly provisioned: Provisioned;
}

export function showInstalled(installation: Installation, done: Done, { terminal, isJson, program }: Shown): ExitCode {
  const { outcome, service } = done;
  const next = nextSteps(installation, done, program);
  if (isJson) {
    const shownService =
      service === null ? null : { outcome: outcome.kind, active: service.activeState, enabled: service.unitFileState };
    terminal.json({ ...describe(installation), dry_run: false, service: shownService, next });
  } else {
    const conclusion = isChange(installation)
      ? `${terminal.style("good", "ok")} ${NAME} ${installation.version} is installed${imageText(installation)}`
      : nothingToChange(installation);
    terminal.print(conclusion);
    showNotes(installation, terminal);
    if (outcome.kind === "configuration-invalid") {
      terminal.note("The agent was not started: its configuration is not complete yet.");
    }
    if (next.length > 0) terminal.print("Next:");
    for (const [index, text] of next.entries()) terminal.print(`  ${index + 1}. ${text}`);
  }
  if (outcome.kind !== "start-failed") return EXIT.ok;
  terminal.problem({
    code: "start-failed",
    what: `the agent is installed, but did not start: ${outcome.reason}`,
    fix: `journalctl -u ${NAME} -n 30 says why; ${NAME} doctor helps`,
  });
  return EXIT.failed;
}

function describe(installation: Installation): Readonly<Record<string, unknown>> {
  const { version, image, kept, warnings } = installation;
  return {
    changed: isChange(installation),
    version,
    root: image ?? "/",
    changes: changesOf(installation).map(stepForJson),
    kept,
    warnings,
  };
}

function changesOf({ copying, steps }: Installation): readonly Step[] {
  return [...copying, ...steps];
}

function isChange(installation: Installation): boolean {
  return changesOf(installation).length > 0;
}

function nothingToChange(installation: Installation): string {
  return `Nothing to change: ${NAME} ${installation.version} is installed${imageText(installation)}`;
}

function imageText({ image }: Installation): string {
  return image === null ? "" : ` in ${image}`;
}

function showNotes({ kept, warnings }: Installation, terminal: Terminal): void {
  for (const { path, shipped } of kept) {
    const beside = shipped === null ? "" : `; this version's file: ${shipped}`;
    terminal.note(`${terminal.style("warn", "kept")}: ${path} was edited and stays as it is${beside}`);
  }
  for (const warning of warnings) terminal.warning(warning);
}

function nextSteps(
  { image, changesService }: Installation,
  { outcome, service, provisioned }: Done,
  ownProgram: string,
): readonly string[] {
  const { hasConfiguration, hasManifest, hasCredential } = provisioned;
  const program = `sudo ${image === null ? NAME : ownProgram}`;
  const folder = image === null ? "" : ` --dir ${shellWord(join(image, CONFIGURATION_FOLDER))}`;
  const enrolling =
    image === null
      ? `${program} enroll  # or, with an API key: ${program} set-key`
      : `${program} install --root ${shellWord(image)} --key-file FILE`;
  const writing = [
    ...(hasConfiguration && hasManifest ? [] : [`${program} init${folder}`]),
    ...(hasCredential ? [] : [enrolling]),
  ];
  if (service === null) return writing;
  const isRunning = ["active", "activating", "reloading"].includes(service.activeState);
  if (isRunning && outcome.kind === "started") return [`${program} status`];
  // The version before keeps running.
  if (isRunning) return [...writing, ...(changesService ? [`sudo systemctl restart ${NAME}`] : [])];
  const enabling = service.unitFileState === "enabled" ? "start" : "enable --now";
  return [
    ...(service.loadState === "masked" ? [`sudo systemctl unmask ${SERVICE_UNIT}`] : []),
    ...writing,
    `${program} check`,
    `sudo systemctl ${enabling} ${NAME}`,
  ];
}
