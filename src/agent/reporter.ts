import type { Log } from "../platform/log/log.ts";
import type { Notify } from "../platform/systemd/notify.ts";
import type { LocatedFinding } from "./findings.ts";
import { STATES } from "./states.ts";
import type { StatusDocument } from "./status.ts";
import type { WatchMode } from "./watching/watcher.ts";

/** Tells people and the service manager what changed, once per change: a day without network is a handful of lines. */
export interface Reporter {
  status(document: StatusDocument): void;
  mode(mode: WatchMode): void;
  /** @param path at which the disk does not answer; null when it does. */
  hanging(path: string | null, document: StatusDocument): void;
}

export function createReporter(options: { readonly log: Log; readonly notify: Notify }): Reporter {
  const { log, notify } = options;
  let told = "";
  let toldFindings = "";
  let toldStateProblem: string | null = null;
  let toldUnconfirmed = false;
  let toldMode: WatchMode["mode"] = "events";
  let statusText = "";
  let toldHanging: string | null = null;

  function tellSummary({ summary }: StatusDocument): void {
    if (summary === statusText) return;
    statusText = summary;
    notify.status(summary);
  }

  function tellState(document: StatusDocument): void {
    const { state, failure, registration } = document;
    const { level } = STATES[state];
    if (level === null) return;
    const key = [state, failure?.reason ?? "", registration?.registered_at ?? "", document.healthy].join(" ");
    if (key === told) return;
    told = key;
    log[level](state, {
      robot: document.robot.name,
      ...(state === "registered" ? { configurationDigest: registration?.configuration_digest } : {}),
      ...(failure === null ? {} : { reason: failure.reason, detail: failure.detail }),
    });
  }

  function tellFindings(findings: readonly LocatedFinding[]): void {
    const key = findings.map(({ id, file, loc }) => `${id} ${file}${loc}`).join("\n");
    if (key === toldFindings) return;
    toldFindings = key;
    for (const { id, severity, file, line, column, message } of findings) {
      log.warn("finding", { id, severity, where: `${file}:${line}:${column}`, message });
    }
  }

  function tellStateProblem(problem: string | null): void {
    if (problem === toldStateProblem) return;
    toldStateProblem = problem;
    if (problem === null) log.info("state-saved");
    else log.warn("state-not-saved", { detail: problem });
  }

  function tellConfirmation({ state, confirmation }: StatusDocument): void {
    if (state !== "registered" || confirmation === null) return;
    const { problem } = confirmation;
    if ((problem !== null) === toldUnconfirmed) return;
    toldUnconfirmed = problem !== null;
    if (problem === null) log.info("confirmed-again");
    else log.warn("not-confirmed", { detail: problem });
  }

  return {
    status(document) {
      tellState(document);
      if (STATES[document.state].level !== null) tellFindings(document.findings);
      tellStateProblem(document.state_problem);
      tellConfirmation(document);
      // A status that changes with every retry would cost a process each time; the passing states say nothing new.
      if (STATES[document.state].level !== null) tellSummary(document);
    },
    hanging(path, document) {
      if (path === toldHanging) return;
      if (path === null) log.info("disk-answers-again", { path: toldHanging });
      else log.warn("disk-hangs", { path });
      toldHanging = path;
      tellSummary(document);
    },
    mode(mode) {
      if (mode.mode === toldMode) return;
      toldMode = mode.mode;
      if (mode.mode === "polling") log.warn("watching-by-polling", { reason: mode.reason });
      else log.info("watching-by-events");
    },
  };
}
