import type { Log } from "../platform/log/log.ts";
import type { Notify } from "../platform/systemd/notify.ts";
import { describeChanges } from "./changes.ts";
import type { LocatedFinding } from "./findings.ts";
import { STATES } from "./states.ts";
import type { StatusDocument } from "./status.ts";
import type { WatchMode } from "../look/watch.ts";

/** Reports changes to the log and to systemd, each once: a day without network is a handful of lines. */
export function createReporter(options: { readonly log: Log; readonly notify: Notify }) {
  const { log, notify } = options;
  let reportedState = "";
  let reportedFindings = "";
  let reportedStateProblem: string | null = null;
  let reportedUnconfirmed = false;
  let reportedMode: WatchMode["mode"] = "events";
  let statusText = "";
  let reportedHanging: string | null = null;

  function reportSummary({ summary }: StatusDocument): void {
    if (summary === statusText) return;
    statusText = summary;
    notify.status(summary);
  }

  function reportState(level: "info" | "warn", document: StatusDocument): void {
    const { state, failure, registration, registered_changes: changes } = document;
    const key = [state, failure?.reason ?? "", registration?.registered_at ?? "", document.healthy].join(" ");
    if (key === reportedState) return;
    reportedState = key;
    log[level](state, {
      robot: document.robot.name,
      ...(state === "registered" ? { configuration_digest: registration?.configuration_digest } : {}),
      ...(state === "registered" && changes !== null ? { changes: describeChanges(changes, null) } : {}),
      ...(failure === null ? {} : { reason: failure.reason, detail: failure.detail }),
    });
  }

  function reportFindings(findings: readonly LocatedFinding[]): void {
    const key = findings.map(({ id, file, loc }) => `${id} ${file}${loc}`).join("\n");
    if (key === reportedFindings) return;
    reportedFindings = key;
    for (const { id, severity, file, line, column, message } of findings) {
      log.warn("finding", { id, severity, where: `${file}:${line}:${column}`, message });
    }
  }

  function reportStateProblem(problem: string | null): void {
    if (problem === reportedStateProblem) return;
    reportedStateProblem = problem;
    if (problem === null) log.info("state-saved");
    else log.warn("state-not-saved", { detail: problem });
  }

  function reportConfirmation({ state, confirmation }: StatusDocument): void {
    if (state !== "registered" || confirmation === null) return;
    const { problem } = confirmation;
    if ((problem !== null) === reportedUnconfirmed) return;
    reportedUnconfirmed = problem !== null;
    if (problem === null) log.info("confirmed-again");
    else log.warn("not-confirmed", { detail: problem });
  }

  return {
    status(document: StatusDocument) {
      const { level } = STATES[document.state];
      // Not for transient states: each new STATUS= starts a process (systemd-notify), which every retry would do.
      if (level !== null) {
        reportState(level, document);
        reportFindings(document.findings);
        reportSummary(document);
      }
      reportStateProblem(document.state_problem);
      reportConfirmation(document);
    },
    /** @param path the path on which the disk hangs; null when it answers. */
    hanging(path: string | null, document: StatusDocument) {
      if (path === reportedHanging) return;
      if (path === null) log.info("disk-answers-again", { path: reportedHanging });
      else log.warn("disk-hangs", { path });
      reportedHanging = path;
      reportSummary(document);
    },
    mode(mode: WatchMode) {
      if (mode.mode === reportedMode) return;
      reportedMode = mode.mode;
      if (mode.mode === "polling") log.warn("watching-by-polling", { reason: mode.reason });
      else log.info("watching-by-events");
    },
  };
}
