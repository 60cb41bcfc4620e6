import type { System, UnitSeen } from "../apply/system.ts";
import { FIRST_BOOT_UNIT, SERVICE_UNIT } from "../layout.ts";
import type { Provisioned } from "./observation.ts";
import type { Step } from "./step.ts";

export interface ServiceQuestion {
  readonly system: Pick<System, "isRunning">;
  readonly service: UnitSeen;
  readonly firstBoot: UnitSeen;
  /** Nothing was installed before. An update does not enable units: that is the administrator's choice. */
  readonly isFirst: boolean;
  readonly enables: boolean;
  readonly starts: boolean;
  readonly enablesFirstBoot: boolean;
  readonly provisioned: Provisioned;
  /** A unit file changes. */
  readonly changesUnits: boolean;
  /** The service has to restart to use the new version. */
  readonly changesService: boolean;
}

/** Steps for systemd before the switch to the new version. Pure. */
export function planUnits(question: ServiceQuestion): readonly Step[] {
  const enabling = wantedUnits(question).filter(([, seen]) => seen.unitFileState !== "enabled" && !isMasked(seen));
  return [
    ...(question.system.isRunning && question.changesUnits ? [{ kind: "reload-units" } as const] : []),
    ...enabling.map(([unit]) => ({ kind: "enable", unit }) as const),
  ];
}

/** The units that are not enabled because a mask forbids it. Pure. */
export function findMasked(question: ServiceQuestion): readonly string[] {
  return wantedUnits(question).flatMap(([unit, seen]) => (isMasked(seen) ? [unit] : []));
}

function wantedUnits({ isFirst, enables, enablesFirstBoot, service, firstBoot }: ServiceQuestion) {
  return [
    ...(enablesFirstBoot ? [[FIRST_BOOT_UNIT, firstBoot] as const] : []),
    ...(isFirst && enables ? [[SERVICE_UNIT, service] as const] : []),
  ];
}

/** Steps after the switch. Pure. */
export function planStart({ system, service, provisioned, ...question }: ServiceQuestion): readonly Step[] {
  // A masked unit must never start (systemctl(1)).
  if (!system.isRunning || !question.starts || isMasked(service)) return [];
  if (isRunning(service)) {
    const wasWell = service.activeState === "active";
    return question.changesService ? [{ kind: "restart", unit: SERVICE_UNIT, wasWell }] : [];
  }
  const isReady = question.isFirst && provisioned.hasConfiguration && provisioned.hasManifest;
  return isReady ? [{ kind: "start", unit: SERVICE_UNIT }] : [];
}

/** Whether an older version keeps running after the switch: with `--no-start`, or because a mask forbids the restart. Pure. */
export function isRestartLeft({ system, service, ...question }: ServiceQuestion): boolean {
  const restarts = question.starts && !isMasked(service);
  return system.isRunning && question.changesService && isRunning(service) && !restarts;
}

function isMasked({ loadState, unitFileState }: UnitSeen): boolean {
  return loadState === "masked" || unitFileState.startsWith("masked");
}

function isRunning({ activeState }: UnitSeen): boolean {
  return ["active", "activating", "reloading", "refreshing", "failed"].includes(activeState);
}
