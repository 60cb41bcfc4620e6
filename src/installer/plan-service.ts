import { FIRST_BOOT_UNIT, SERVICE_UNIT } from "./layout.ts";
import { changesService, changesUnits } from "./plan.ts";
import type { Provisioned } from "./observe-machine.ts";
import type { Step } from "./step.ts";
import type { UnitSeen } from "./system.ts";

export interface ServiceQuestion {
  /** The steps before, and the program that they install. */
  readonly steps: readonly Step[];
  readonly program: string;
  readonly service: UnitSeen;
  readonly first_boot: UnitSeen;
  /** Nothing was installed before. Later what is enabled is what the person in charge wants. */
  readonly is_first: boolean;
  readonly enables: boolean;
  readonly starts: boolean;
  readonly enables_first_boot: boolean;
  readonly provisioned: Provisioned;
}

/** What is asked of a running systemd after the files are in place. Pure. */
export function planService(question: ServiceQuestion): readonly Step[] {
  const { steps, program, service, first_boot, provisioned } = question;
  const planned: Step[] = [];
  if (changesUnits(steps)) planned.push({ kind: "reload-units" });
  if (question.enables_first_boot && first_boot.unit_file_state !== "enabled" && !isMasked(first_boot)) {
    planned.push({ kind: "enable", unit: FIRST_BOOT_UNIT });
  }
  // A mask is the strongest word a person has.
  if (isMasked(service)) return planned;
  if (question.is_first && question.enables && service.unit_file_state !== "enabled") {
    planned.push({ kind: "enable", unit: SERVICE_UNIT });
  }
  if (!question.starts) return planned;
  if (isRunning(service)) {
    const was_well = service.active_state === "active";
    if (changesService(steps, program)) planned.push({ kind: "restart", unit: SERVICE_UNIT, was_well });
  } else if (question.is_first && provisioned.has_configuration && provisioned.has_manifest) {
    planned.push({ kind: "start", unit: SERVICE_UNIT });
  }
  return planned;
}

/** Units that an image is to have enabled, by links: what `systemctl --root` would do. */
export function unitsEnabledInImage({
  service,
  first_boot,
  is_first,
  enables,
  enables_first_boot,
}: Pick<ServiceQuestion, "service" | "first_boot" | "is_first" | "enables" | "enables_first_boot">): readonly string[] {
  return [
    ...(is_first && enables && !isMasked(service) ? [SERVICE_UNIT] : []),
    ...(enables_first_boot && !isMasked(first_boot) ? [FIRST_BOOT_UNIT] : []),
  ];
}

function isMasked({ load_state, unit_file_state }: UnitSeen): boolean {
  return load_state === "masked" || unit_file_state.startsWith("masked");
}

function isRunning({ active_state }: UnitSeen): boolean {
  return ["active", "activating", "reloading", "refreshing", "failed"].includes(active_state);
}
