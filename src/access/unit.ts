import { exists, type Files } from "../platform/files/files.ts";
import type { RunProgram } from "../platform/programs.ts";

export const SERVICE_NAME = "robot-policy-agent";
const UNIT = `${SERVICE_NAME}.service`;
export const TIMER_NAME = `${SERVICE_NAME}.timer`;
export const LOOK_NAME = `${SERVICE_NAME}-look`;

/** Drop-ins written by an administrator or `grant`, for each unit that reads the robot's files: the service's first. */
export const DROP_IN_DIRECTORIES = [SERVICE_NAME, LOOK_NAME, `${SERVICE_NAME}-setup`].map(
  (name) => `/etc/systemd/system/${name}.service.d`,
);

/** The properties of the agent's unit, from systemd. */
export interface ServiceUnit {
  /** `loaded`, `masked`, `not-found`, `error`, `bad-setting`. */
  readonly loadState: string;
  readonly activeState: string;
  readonly subState: string;
  /** `enabled`, `disabled`, `masked`, or empty. */
  readonly unitFileState: string;
  /** Result of the last run: `success`, `exit-code`, `watchdog`, `timeout`, `oom-kill`, … */
  readonly result: string;
  readonly exitStatus: string;
  readonly restarts: number;
  readonly needsReload: boolean;
  readonly conditionFailed: boolean;
  readonly dropInPaths: readonly string[];
  /** Empty for root. */
  readonly user: string;
  /** Empty for the user's own. */
  readonly group: string;
  readonly supplementaryGroups: readonly string[];
  /** Files that systemd reads for the unit, as root: `LoadCredential=` and `LoadCredentialEncrypted=`. */
  readonly credentialPaths: readonly string[];
  readonly protectHome: string;
  readonly hasPrivateTmp: boolean;
  readonly inaccessiblePaths: readonly string[];
}

/** The timer in place of the service, and its looks. */
export interface TimerUnit {
  readonly isActive: boolean;
  readonly isEnabled: boolean;
  /** Start of the last look, on the monotonic clock; 0 before the first one. */
  readonly lastLookMs: number;
  /** As `ServiceUnit.result`. */
  readonly lastResult: string;
}

export type FoundUnit =
  /** `timer`: null unless it is enabled or active. */
  | { readonly kind: "unit"; readonly unit: ServiceUnit; readonly timer: TimerUnit | null }
  /** Another service manager, or none, as in a container. */
  | { readonly kind: "no-systemd" }
  | { readonly kind: "silent"; readonly detail: string };

const PROPERTIES = [
  "LoadState,ActiveState,SubState,UnitFileState,Result,ExecMainStatus,NRestarts,NeedDaemonReload",
  "ConditionResult,ConditionTimestampMonotonic,DropInPaths,User,Group,SupplementaryGroups",
  "LoadCredential,LoadCredentialEncrypted,ProtectHome,PrivateTmp,InaccessiblePaths,ExecMainStartTimestampMonotonic",
].join(",");

/** sd_booted(3). */
const BOOTED = "/run/systemd/system";
const ASK_LIMIT_MS = 4000;

/** Asks systemd for the agent's unit. Needs no privileges. */
export async function readServiceUnit(files: Files, runProgram: RunProgram): Promise<FoundUnit> {
  if (!(await exists(files, BOOTED))) return { kind: "no-systemd" };
  const words = ["systemctl", "show", UNIT, TIMER_NAME, `${LOOK_NAME}.service`, `--property=${PROPERTIES}`];
  const result = await runProgram(words, { limitMs: ASK_LIMIT_MS });
  if (result.kind === "missing") return { kind: "no-systemd" };
  if (result.kind !== "ended") return { kind: "silent", detail: "systemctl does not answer" };
  return result.exitCode === 0
    ? parseUnits(result.stdout)
    : { kind: "silent", detail: result.stderr.trim().split("\n", 1)[0] ?? "" };
}

/** Parses the output of `systemctl show` for service, timer and look: a paragraph each. */
export function parseUnits(text: string): Extract<FoundUnit, { kind: "unit" }> {
  const [service = "", timer = "", look = ""] = text.split("\n\n");
  const [{ activeState, unitFileState }, value] = [parseUnit(timer), valuesOf(look)];
  const isActive = activeState === "active";
  const isEnabled = unitFileState === "enabled";
  const lastLookMs = Math.round(Number(value("ExecMainStartTimestampMonotonic")) / 1000) || 0;
  return {
    kind: "unit",
    unit: parseUnit(service),
    timer: isActive || isEnabled ? { isActive, isEnabled, lastLookMs, lastResult: value("Result") } : null,
  };
}

/** Of the lines NAME=VALUE, repeated for several values. */
function valuesOf(text: string): (name: string) => string {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const at = line.indexOf("=");
    if (at === -1) continue;
    const name = line.slice(0, at);
    const before = values.get(name);
    values.set(name, before === undefined ? line.slice(at + 1) : `${before} ${line.slice(at + 1)}`);
  }
  return (name) => values.get(name) ?? "";
}

export function parseUnit(text: string): ServiceUnit {
  const value = valuesOf(text);
  const words = (name: string) =>
    value(name)
      .split(" ")
      .filter((word) => word !== "");
  return {
    loadState: value("LoadState"),
    activeState: value("ActiveState"),
    subState: value("SubState"),
    unitFileState: value("UnitFileState"),
    result: value("Result"),
    exitStatus: value("ExecMainStatus"),
    restarts: Number(value("NRestarts")) || 0,
    needsReload: value("NeedDaemonReload") === "yes",
    conditionFailed: value("ConditionResult") === "no" && value("ConditionTimestampMonotonic") !== "0",
    dropInPaths: words("DropInPaths"),
    user: value("User"),
    group: value("Group"),
    supplementaryGroups: words("SupplementaryGroups"),
    credentialPaths: [...words("LoadCredential"), ...words("LoadCredentialEncrypted")]
      .map((word) => word.slice(word.indexOf(":") + 1))
      .filter((path) => path.startsWith("/")),
    protectHome: value("ProtectHome"),
    hasPrivateTmp: ["yes", "disconnected"].includes(value("PrivateTmp")),
    inaccessiblePaths: words("InaccessiblePaths").map((word) => word.replace(/^[-+]+/, "")),
  };
}

/** The setting of the unit that hides a path from it; null when none does. */
export function hiddenBy(unit: ServiceUnit, path: string): string | null {
  const homes = ["/home", "/root", "/run/user"];
  if (["yes", "tmpfs"].includes(unit.protectHome) && homes.some((home) => isBelow(path, home)))
    return `ProtectHome=${unit.protectHome}`;
  if (unit.hasPrivateTmp && ["/tmp", "/var/tmp"].some((folder) => isBelow(path, folder))) return "PrivateTmp=yes";
  const closed = unit.inaccessiblePaths.find((each) => isBelow(path, each));
  return closed === undefined ? null : `InaccessiblePaths=${closed}`;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
