/** The unit, and the agent that runs. */
import {
  type FoundUnit,
  LOOK_NAME,
  SERVICE_NAME,
  type ServiceUnit,
  TIMER_NAME,
  type TimerUnit,
} from "../../access/unit.ts";
import { EXIT } from "../../platform/terminal.ts";
import { controlSocketPath, hasStandardState } from "../configuration/folders.ts";
import { askDaemon, readRunningAgent } from "../control/client.ts";
import { statusBetweenLooks } from "../on-demand.ts";
import { enrolmentFix } from "../remedies.ts";
import { exitCodeOf, statusProblem } from "../states.ts";
import type { StatusDocument } from "../status.ts";
import { fail, type Found, ok, skip, type Subject, type Verdict, warn } from "./check.ts";

/** The running agent, asked through its control socket, or what the timer's looks found. */
export async function checkDaemon(
  { context, folders, agentUser }: Subject,
  signal: AbortSignal,
): Promise<Found<StatusDocument>> {
  const { version, machine } = context;
  const path = controlSocketPath(folders);
  const answer = await askDaemon(path, "GET", "/status", signal);
  if (answer.kind === "not-running") {
    const { unit } = agentUser;
    const timer = hasStandardState(folders) && unit.kind === "unit" ? unit.timer : null;
    if (timer?.isActive === true) {
      const status = await statusBetweenLooks(timer, folders, { ...context, signal });
      if ("fix" in status) return warn(status.what, status.fix);
      return { ...judgeStatus(status, version), value: status };
    }
    const remedy = howToStart(agentUser.unit, hasStandardState(folders));
    return warn(`no agent answers at ${path}; changes are not noticed`, remedy);
  }
  const status = await readRunningAgent(answer, folders, machine.files);
  if ("fix" in status)
    return answer.kind === "failed" ? fail(EXIT.failed, status.what, status.fix) : warn(status.what, status.fix);
  return { ...judgeStatus(status, version), value: status };
}

function judgeStatus(status: StatusDocument, version: string): Verdict {
  const { daemon, watching, state, summary, identity } = status;
  if (daemon !== null && daemon.version !== version)
    return warn(`agent ${daemon.version} runs, but ${version} is installed`, `systemctl restart ${SERVICE_NAME}`);
  const problem = statusProblem(status);
  if (problem === null) {
    const dispute = status.findings.find(({ id }) => id === "replaced");
    if (dispute !== undefined) return warn(dispute.message, "check the list of robots at the service");
    if (watching?.mode === "polling")
      return warn(
        `${summary}, but the agent polls: ${watching.reason ?? ""}`,
        "changes are seen within watch.poll_s; at once, when inotify can watch them",
      );
    if (status.healthy || state !== "registered") return ok(summary);
  }
  // What keeps it from its credential is shown by the checks of the way to the service, and at last by that of the authentication.
  if (state === "waiting-for-approval" && identity !== null)
    return warn(summary, enrolmentFix(identity, "the agent tries again by itself"));
  // Only a warning: the network checks are more current, because the agent retries every five minutes at most.
  if (exitCodeOf(status) === EXIT.unreachable) return warn(summary, "robot-policy-agent --setup tries again at once");
  // The check that finds the same gives the exit code of its kind.
  return fail(EXIT.failed, summary, problem?.fix ?? "correct the edit: robot-policy-agent check");
}

/** The remedy for an agent that is not running. @param isOfTheseFolders false for an agent with other folders, which runs without the unit. */
export function howToStart(found: FoundUnit, isOfTheseFolders: boolean): string {
  if (!isOfTheseFolders) return "robot-policy-agent run";
  if (found.kind !== "unit") return "robot-policy-agent run, started by this machine's service manager";
  return judgeUnit(found, isOfTheseFolders).remedy ?? `systemctl restart ${SERVICE_NAME}`;
}

const LOG = `journalctl -u ${SERVICE_NAME} -n 50`;

/** Checks that the unit exists, is enabled, runs, and is not restarted again and again. */
export function judgeUnit(found: FoundUnit, isOfTheseFolders: boolean): Verdict {
  if (found.kind === "no-systemd") return skip("this machine does not run systemd");
  if (found.kind === "silent")
    return warn(`systemd does not answer: ${found.detail}`, "check its state: systemctl is-system-running");
  if (!isOfTheseFolders) return skip("an agent with other folders has no unit");
  const { unit, timer } = found;
  if (timer !== null) return judgeTimer(timer, unit);
  switch (unit.loadState) {
    case "loaded":
      break;
    case "not-found":
      return warn("there is no unit: nothing starts the agent at boot", "robot-policy-agent install, or its package");
    case "masked":
      return fail(EXIT.failed, "the unit is masked, so that it cannot start", `systemctl unmask ${SERVICE_NAME}`);
    default:
      return fail(
        EXIT.failed,
        `systemd cannot use the unit (${unit.loadState})`,
        `systemd-analyze verify ${SERVICE_NAME}.service`,
      );
  }
  if (unit.needsReload)
    return warn(
      "the unit or a drop-in was edited, and systemd has not read it yet",
      `systemctl daemon-reload && systemctl restart ${SERVICE_NAME}`,
    );
  return judgeActive(unit);
}

function judgeTimer({ isActive, isEnabled, lastResult }: TimerUnit, service: ServiceUnit): Verdict {
  if (service.unitFileState === "enabled")
    return warn(
      "both service and timer are enabled: which of them starts at the next boot is chance",
      `systemctl disable ${isActive ? SERVICE_NAME : TIMER_NAME}`,
    );
  if (!isActive) return warn("the timer is enabled, but does not run", `systemctl start ${TIMER_NAME}`);
  if (!isEnabled) return warn("the timer looks each minute, until the next boot", `systemctl enable ${TIMER_NAME}`);
  if (lastResult !== "success" && lastResult !== "")
    return fail(EXIT.failed, `the last look of the timer ended: ${lastResult}`, `journalctl -u ${LOOK_NAME} -n 50`);
  return ok("a timer looks each minute, in place of an agent that runs");
}

function judgeActive(unit: ServiceUnit): Verdict {
  const { activeState, subState, restarts, unitFileState } = unit;
  const isEnabled = unitFileState !== "disabled";
  switch (activeState) {
    case "failed":
      return fail(EXIT.failed, `it ended and is not restarted: ${describeEnd(unit)}`, LOG);
    case "activating":
    case "deactivating": {
      const soFar = restarts === 0 ? "" : `, ${times(restarts)} so far`;
      if (subState.startsWith("auto-restart"))
        return fail(EXIT.failed, `it ends and is started again${soFar}: ${describeEnd(unit)}`, LOG);
      // Before systemd 254 the unit's ExecStartPre= delays the restarts, from the second one on. How it ended is forgotten by then.
      if (subState === "start-pre" && restarts > 1)
        return fail(EXIT.failed, `it ends and is started again${soFar}`, LOG);
      return warn(`it is ${activeState}`, "look again in a moment");
    }
    case "inactive":
      if (unit.conditionFailed)
        return warn(
          "it was not started: the configuration did not exist at that time",
          `once it exists (robot-policy-agent init): systemctl start ${SERVICE_NAME}`,
        );
      return warn(
        `it is not running${isEnabled ? "" : ", and not started at boot"}`,
        `systemctl ${isEnabled ? "start" : "enable --now"} ${SERVICE_NAME}`,
      );
  }
  if (!isEnabled)
    return warn("it runs, but is disabled: it will not start at the next boot", `systemctl enable ${SERVICE_NAME}`);
  if (restarts > 0)
    return warn(
      `it runs, after systemd had to start it again ${times(restarts)}`,
      `see why: journalctl -u ${SERVICE_NAME} -b | grep -i -e watchdog -e 'main process'`,
    );
  // Drop-ins of the administrator; those elsewhere belong to packages.
  const edits = unit.dropInPaths.filter((path) => path.startsWith("/etc/") || path.startsWith("/run/"));
  const changed = edits.length === 0 ? "" : `, changed by ${edits.join(", ")}`;
  return ok(`${unitFileState === "" ? "" : `${unitFileState} and `}running${changed}`);
}

/** In the words of systemd (systemd.exec(5), `$SERVICE_RESULT`), and with its exit code or signal. */
function describeEnd({ result, exitStatus }: ServiceUnit): string {
  return ["exit-code", "signal", "core-dump"].includes(result) ? `${result} ${exitStatus}` : result;
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
