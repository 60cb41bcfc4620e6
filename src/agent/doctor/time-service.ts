import type { RunProgram } from "../../platform/programs.ts";

/** Whether something keeps the clock right: the kernel's own word (adjtimex(2)), which any time service sets. */
export type TimeService = "synchronized" | "not-synchronized" | "unknown";

const ASK_LIMIT_MS = 4000;

export async function askTimeService(runProgram: RunProgram): Promise<TimeService> {
  const result = await runProgram(["timedatectl", "show", "--property=NTPSynchronized"], { limit_ms: ASK_LIMIT_MS });
  if (result.kind !== "ended" || result.exit_code !== 0) return "unknown";
  switch (result.stdout.trim()) {
    case "NTPSynchronized=yes":
      return "synchronized";
    case "NTPSynchronized=no":
      return "not-synchronized";
    default:
      return "unknown";
  }
}
