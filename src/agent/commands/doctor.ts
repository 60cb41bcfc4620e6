import { EXIT, type ExitCode, type Terminal } from "../../platform/terminal.ts";
import { resolveFolders } from "../configuration/folders.ts";
import { CHECK_IDS, type CheckResult, type Verdict } from "../doctor/check.ts";
import { diagnose } from "../doctor/diagnosis.ts";
import type { Command, CommonOptions } from "./context.ts";

const SCHEMA_VERSION = 1;
const STATUS_COLUMN = 6;
const ID_COLUMN = Math.max(...CHECK_IDS.map((id) => id.length)) + 2;

const STYLES = { ok: "good", warn: "warn", fail: "bad", skip: "dim" } as const;

/** The order in which failures determine the exit code: the one to fix first comes first. */
const FIRST_TO_MEND = [
  EXIT.invalid,
  EXIT.unreachable,
  EXIT.unauthorized,
  EXIT.conflict,
  EXIT.rejected,
  EXIT.failed,
] as const;

/** `doctor`: checks everything that can prevent registration, one check each, with a remedy. */
export const doctor: Command<CommonOptions> = async (options, context) => {
  const { terminal } = context;
  const results: CheckResult[] = [];
  for await (const result of diagnose(context, resolveFolders(options, context.environment))) {
    results.push(result);
    if (options.json !== true) show(result, terminal);
  }
  const exitCode = exitCodeOf(results.map(({ verdict }) => verdict));
  if (options.json === true) {
    const checks = results.map(({ id, verdict, durationMs }) => ({
      id,
      status: verdict.status,
      what: verdict.what,
      remedy: "remedy" in verdict ? verdict.remedy : null,
      duration_ms: durationMs,
    }));
    terminal.json({ schema_version: SCHEMA_VERSION, healthy: exitCode === EXIT.ok, checks });
  }
  return exitCode;
};

function show({ id, verdict }: CheckResult, terminal: Terminal): void {
  const status = verdict.status.padEnd(STATUS_COLUMN);
  terminal.print(`${terminal.style(STYLES[verdict.status], status)}${id.padEnd(ID_COLUMN)}${verdict.what}`);
  if ("remedy" in verdict) terminal.print(`${" ".repeat(STATUS_COLUMN + ID_COLUMN)}→ ${verdict.remedy}`);
}

function exitCodeOf(verdicts: readonly Verdict[]): ExitCode {
  const failures = new Set(verdicts.flatMap((verdict) => (verdict.status === "fail" ? [verdict.exitCode] : [])));
  return FIRST_TO_MEND.find((exitCode) => failures.has(exitCode)) ?? EXIT.ok;
}
