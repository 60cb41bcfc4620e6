import { type FoundUnit, SERVICE_NAME, type ServiceUnit } from "../../access/unit.ts";
import { EXIT } from "../../platform/terminal.ts";
import { fail, ok, skip, type Verdict, warn } from "./check.ts";

const LOG = `journalctl -u ${SERVICE_NAME} -n 50`;

/** Facts about the agent that systemd does not know. */
export interface UnitFacts {
  /** False for an agent with other folders, which runs without the unit. */
  readonly isOfTheseFolders: boolean;
  /** True when the file exists, valid or not: without it systemd skips the start. */
  readonly hasConfiguration: boolean;
}

/** Checks that the unit exists, is enabled, runs, and is not restarted again and again. */
export function judgeUnit(found: FoundUnit, facts: UnitFacts): Verdict {
  switch (found.kind) {
    case "no-systemd":
      return skip("this machine does not run systemd");
    case "silent":
      return warn(`systemd does not answer: ${found.detail}`, "check its state: systemctl is-system-running");
    case "unit":
      break;
  }
  if (!facts.isOfTheseFolders) return skip("an agent with other folders has no unit");
  const { unit } = found;
  return judgeLoaded(unit) ?? judgeActive(unit, facts);
}

/** The remedy for an agent that is not running. */
export function howToStart(found: FoundUnit, facts: UnitFacts): string {
  if (!facts.isOfTheseFolders) return "robot-policy-agent run";
  if (found.kind !== "unit") return "robot-policy-agent run, started by this machine's service manager";
  const verdict = judgeUnit(found, facts);
  return "remedy" in verdict ? verdict.remedy : `systemctl restart ${SERVICE_NAME}`;
}

/** @returns null for a unit that systemd can start. */
function judgeLoaded({ loadState, unitFileState, needsReload }: ServiceUnit): Verdict | null {
  switch (loadState) {
    case "loaded":
      break;
    case "not-found":
      return warn("there is no unit: nothing starts the agent at boot", "robot-policy-agent install, or its package");
    case "masked":
      return fail(
        EXIT.failed,
        "the unit is masked, so that it cannot start",
        `systemctl unmask ${unitFileState === "masked-runtime" ? "--runtime " : ""}${SERVICE_NAME}`,
      );
    default:
      return fail(
        EXIT.failed,
        `systemd cannot use the unit (${loadState})`,
        `systemd-analyze verify ${SERVICE_NAME}.service`,
      );
  }
  return needsReload
    ? warn(
        "the unit or a drop-in was edited, and systemd has not read it yet",
        `systemctl daemon-reload && systemctl restart ${SERVICE_NAME}`,
      )
    : null;
}

function judgeActive(unit: ServiceUnit, { hasConfiguration }: UnitFacts): Verdict {
  const { activeState, subState, restarts, unitFileState } = unit;
  const isEnabled = unitFileState !== "disabled";
  switch (activeState) {
    case "failed":
      return fail(EXIT.failed, `it ended and is not restarted: ${describeEnd(unit)}`, LOG);
    case "activating":
    case "deactivating":
      if (subState.startsWith("auto-restart"))
        return fail(EXIT.failed, `it ends and is started again${soFar(restarts)}: ${describeEnd(unit)}`, LOG);
      // Before systemd 254 the unit's ExecStartPre= delays the restarts, from the second one on. How it ended is forgotten by then.
      if (subState === "start-pre" && restarts > 1)
        return fail(EXIT.failed, `it ends and is started again${soFar(restarts)}`, LOG);
      return warn(`it is ${activeState}`, "look again in a moment");
    case "inactive":
      if (unit.conditionFailed)
        return warn(
          "it was not started: the configuration did not exist at that time",
          `${hasConfiguration ? "it exists now" : "write it with robot-policy-agent init, then"}: systemctl start ${SERVICE_NAME}`,
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
  return ok(`${unitFileState === "" ? "" : `${unitFileState} and `}running${describeDropIns(unit)}`);
}

/** In the words of systemd (systemd.exec(5), `$SERVICE_RESULT`), and with its exit code or signal. */
function describeEnd({ result, exitStatus }: ServiceUnit): string {
  return ["exit-code", "signal", "core-dump"].includes(result) ? `${result} ${exitStatus}` : result;
}

function soFar(restarts: number): string {
  return restarts === 0 ? "" : `, ${times(restarts)} so far`;
}

/** Only drop-ins of the administrator; those elsewhere belong to packages. */
function describeDropIns({ dropInPaths }: ServiceUnit): string {
  const edits = dropInPaths.filter((path) => path.startsWith("/etc/") || path.startsWith("/run/"));
  return edits.length === 0 ? "" : `, changed by ${edits.join(", ")}`;
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
