/** `robot-policy-agent doctor --json`, as its tests run and read it. */
import { expect } from "vitest";

import { createRobot, eventually, type Robot, type RobotOptions } from "../../../support/robot/robot.ts";

export const KEY = "sk_test_canary0123456789canary";

export interface Check {
  readonly id: string;
  readonly status: "ok" | "warn" | "fail" | "skip";
  readonly what: string;
  readonly remedy: string | null;
  readonly duration_ms: number;
}

export interface Diagnosis {
  readonly code: number | null;
  readonly healthy: boolean;
  readonly checks: readonly Check[];
  /** Ids of the checks with this status. */
  readonly failed: readonly string[];
  readonly warned: readonly string[];
  readonly skipped: readonly string[];
  check(id: string): Check | undefined;
}

/** Said by a check that a busy machine had no time for. */
const LATE = "not finished within";

export async function diagnose(
  robot: Robot,
  environment: Readonly<Record<string, string>> = {},
  through: readonly string[] = [],
): Promise<Diagnosis> {
  const args = ["doctor", "--json"];
  const run = () =>
    through.length === 0 ? robot.run(args, environment) : robot.runProcess(args, environment, through);
  const runInTime = async () => {
    const ended = await run();
    return ended.stdout.includes(LATE) ? undefined : ended;
  };
  const { code, stdout, stderr } = await eventually(runInTime, "a diagnosis whose checks all had the time they need");
  expect(stdout + stderr).not.toContain(KEY);
  const {
    schema_version: schemaVersion,
    healthy,
    checks,
  } = JSON.parse(stdout) as {
    schema_version: number;
    healthy: boolean;
    checks: Check[];
  };
  expect([schemaVersion, healthy]).toEqual([1, code === 0]);
  for (const { status, remedy } of checks) expect(remedy !== null).toBe(status === "fail" || status === "warn");
  const those = (wanted: string) => checks.filter(({ status }) => status === wanted).map(({ id }) => id);
  return {
    code,
    healthy,
    checks,
    failed: those("fail"),
    warned: those("warn"),
    // These agents do not run under the unit; test/unit/agent/doctor/unit.test.ts tests its check.
    skipped: those("skip").filter((id) => id !== "unit"),
    check: (id) => checks.find((check) => check.id === id),
  };
}

/** A robot whose configuration names this service address. */
export function robotFor(service_url: string, service = "", options: Partial<RobotOptions> = {}): Promise<Robot> {
  return createRobot({ service_url, key: KEY, ...(service === "" ? {} : { service }), ...options });
}

/** Most of these tests run no daemon, which is a warning. */
export const NO_DAEMON = "daemon";
