import type { Log } from "../platform/log/log.ts";
import type { Notify } from "../platform/systemd/notify.ts";
import { describeChanges } from "./changes.ts";
import type { LocatedFinding } from "./findings.ts";
import { STATES } from "./states.ts";
import type { StatusDocument } from "./status.ts";
import type { WatchMode } from "../look/watch.ts";

/** Reports changes to the log and to systemd, each once: a day without network is a handful of lines. */
export function createReporter(options: {
  readonly log: Log;
  readonly notify: Notify;
  /** Of the registration that the agent starts with. */
  readonly registeredAt: string | null;
}) {
  const { log, notify } = options;
  /** What was reported last, by subject. */
  const reported = new Map<string, string | null>([
    ["state problem", null],
    ["unconfirmed", null],
    ["hanging", null],
    ["mode", "events"],
    ["registration", options.registeredAt],
  ]);

  /** True when the value differs from the one reported before. */
  function isNews(subject: string, value: string | null): boolean {
    if (reported.get(subject) === value) return false;
    reported.set(subject, value);
    return true;
  }

  function reportSummary({ summary }: StatusDocument): void {
    if (isNews("summary", summary)) notify.status(summary);
  }

  function reportState(level: "info" | "warn", document: StatusDocument): void {
    const { state, failure, registration, registered_changes: changes, hold } = document;
    const key = [state, failure?.reason ?? "", registration?.registered_at ?? "", document.healthy].join(" ");
    if (!isNews("state", key)) return;
    const isRegistration = state === "registered" && isNews("registration", registration?.registered_at ?? null);
    log[isRegistration ? "notice" : level](state, {
      robot: document.robot.name,
      ...(state === "registered" ? { configuration_digest: registration?.configuration_digest } : {}),
      ...(state === "registered" && changes !== null ? { changes: describeChanges(changes, null) } : {}),
      ...(state === "held" && hold !== null ? { held_by: hold.held_by, why: hold.reason, until: hold.until } : {}),
      ...(failure === null ? {} : { reason: failure.reason, detail: failure.detail }),
    });
  }

  function reportFindings(findings: readonly LocatedFinding[]): void {
    if (!isNews("findings", findings.map(({ id, file, loc }) => `${id} ${file}${loc}`).join("\n"))) return;
    for (const { id, severity, file, line, column, message } of findings) {
      log.warn("finding", { id, severity, where: `${file}:${line}:${column}`, message });
    }
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
      const { state, confirmation, state_problem: unsaved } = document;
      if (isNews("state problem", unsaved)) {
        if (unsaved === null) log.info("state-saved");
        else log.warn("state-not-saved", { detail: unsaved });
      }
      if (state !== "registered" || confirmation === null) return;
      const { problem } = confirmation;
      if (!isNews("unconfirmed", problem === null ? null : "yes")) return;
      if (problem === null) log.info("confirmed-again");
      else log.warn("not-confirmed", { detail: problem });
    },
    /** @param path the path on which the disk hangs; null when it answers. */
    hanging(path: string | null, document: StatusDocument) {
      const before = reported.get("hanging");
      if (!isNews("hanging", path)) return;
      if (path === null) log.info("disk-answers-again", { path: before });
      else log.warn("disk-hangs", { path });
      reportSummary(document);
    },
    mode(mode: WatchMode) {
      if (!isNews("mode", mode.mode)) return;
      if (mode.mode === "polling") log.warn("watching-by-polling", { reason: mode.reason });
      else log.info("watching-by-events");
    },
  };
}
