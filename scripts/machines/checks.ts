/** The tests of test/e2e as a list of checks. */
import { createVitest } from "vitest/node";
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

export interface Check {
  readonly suite: string;
  readonly check: string;
  readonly state: "passed" | "failed";
  readonly duration_ms: number;
  /** What was measured. */
  readonly notes: readonly string[];
  readonly errors: readonly string[];
}

/** In the name of a suite of which each check goes on where the one before ended. */
const ONE_AFTER_THE_OTHER = "step by step";
const FOLDER = "test/e2e/";

/** Their names, of those that have `only` in them; of a suite that goes step by step all or none. */
export async function listChecks(only: string): Promise<readonly string[]> {
  const tests = await selectTests(only);
  return tests.map(({ fullName }) => fullName);
}

export interface RunOptions {
  readonly only: string;
  /** Holds each computer in the end (nspawn.ts). */
  readonly keeps: boolean;
  onCheck(check: Check): void;
}

export async function runChecks({ only, keeps, onCheck }: RunOptions): Promise<readonly Check[]> {
  const checks: Check[] = [];
  const tell = (check: Check) => {
    checks.push(check);
    onCheck(check);
  };
  const reporter: Reporter = {
    onTestCaseResult(test) {
      const check = describeTest(test);
      if (check !== null) tell(check);
    },
    onTestRunEnd(modules, errors) {
      const outside = [...errors.map(({ message }) => message), ...modules.flatMap(errorsOf)];
      for (const message of outside) tell(failureOutside(message));
    },
  };
  const names = only === "" ? [] : await listChecks(only);
  if (only !== "" && names.length === 0) return [];
  if (keeps) process.env["E2E_KEEP"] = "1";
  const vitest = await createVitest({
    watch: false,
    reporters: [reporter],
    ...(names.length === 0 ? {} : { testNamePattern: new RegExp(`^(?:${names.map(escaped).join("|")})$`) }),
    ...(keeps ? { testTimeout: 0, hookTimeout: 0 } : {}),
  });
  await vitest.start([FOLDER]);
  await vitest.close();
  return checks;
}

async function selectTests(only: string): Promise<readonly TestCase[]> {
  const vitest: Vitest = await createVitest({ watch: false, reporters: [{}] });
  const { testModules } = await vitest.collect([FOLDER], { staticParse: false });
  await vitest.close();
  const tests = testModules.flatMap((module) => Array.from(module.children.allTests()));
  const matching = tests.filter(({ fullName }) => fullName.includes(only));
  const walks = new Set(matching.map(suiteOf).filter((suite) => suite.includes(ONE_AFTER_THE_OTHER)));
  return tests.filter((test) => matching.includes(test) || walks.has(suiteOf(test)));
}

function suiteOf({ parent }: TestCase): string {
  return parent.type === "suite" ? parent.fullName : "";
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** @returns null for a test that was not run. */
function describeTest(test: TestCase): Check | null {
  const { state, errors = [] } = test.result();
  if (state !== "passed" && state !== "failed") return null;
  return {
    suite: suiteOf(test),
    check: test.name,
    state,
    duration_ms: Math.round(test.diagnostic()?.duration ?? 0),
    notes: test.annotations().map(({ message }) => message),
    errors: errors.map(({ message }) => message),
  };
}

/** Of what is done before and after the checks. */
function errorsOf(module: TestModule): readonly string[] {
  const suites = [...module.children.allSuites()].flatMap((suite) => suite.errors());
  return [...module.errors(), ...suites].map(({ message }) => message);
}

function failureOutside(message: string): Check {
  return { suite: "before or after", check: "", state: "failed", duration_ms: 0, notes: [], errors: [message] };
}
