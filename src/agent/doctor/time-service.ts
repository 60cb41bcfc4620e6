import type { RunProgram } from "../../platform/programs.ts";

/** Whether a time service synchronizes the clock, from the kernel's flag (adjtimex(2)), which every time service sets. */
export type TimeService = "synchronized" | "not-synchronized" | "not-installed" | "unknown";

const ASK_LIMIT_MS = 4000;

export async function askTimeService(runProgram: RunProgram): Promise<TimeService> {
  const result = await runProgram(["timedatectl", "show", "--property=NTPSynchronized", "--property=CanNTP"], {
    limitMs: ASK_LIMIT_MS,
  });
  if (result.kind !== "ended" || result.exitCode !== 0) return "unknown";
  return readTimeService(result.stdout);
}

/** @param shown by `timedatectl show`: a line `NAME=VALUE` for each property. */
export function readTimeService(shown: string): TimeService {
  const lines = new Set(shown.split("\n").map((line) => line.trim()));
  if (lines.has("NTPSynchronized=yes")) return "synchronized";
  if (!lines.has("NTPSynchronized=no")) return "unknown";
  return lines.has("CanNTP=no") ? "not-installed" : "not-synchronized";
}
