import { writeFileSync } from "node:fs";
import { relative } from "node:path";

import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

import { NEEDS, WITHOUT_NEEDS } from "./tier.ts";

const MOST_LISTED = 10;
/** Where scripts/test wants the failed tests, to print them after the findings of the check. */
const FAILURES_PATH = process.env["ROBOT_POLICY_TEST_FAILURES"];

/** What a run says at its end: the slowest files, what it left to `--all`, and last the tests that failed. */
export class ClosingWords implements Reporter {
  #root = "";
  #isQuick = false;

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
    this.#isQuick = vitest.config.tagsFilter?.includes(WITHOUT_NEEDS) === true;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { readonly message: string }[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    console.log(`Slowest files: ${this.#slowestFiles(modules)}`);
    const left = this.#isQuick ? describeLeft(tests) : null;
    if (left !== null) console.log(left);
    const failures = [
      ...unhandled.map(({ message }) => `  beside the tests: ${firstLine(message)}`),
      ...modules.flatMap((module) => this.#failedFile(module)),
      ...this.#failedTests(tests),
    ];
    if (failures.length === 0) return;
    const listed = ["", "== failed", ...failures, ""].join("\n");
    if (FAILURES_PATH === undefined) console.log(listed);
    else writeFileSync(FAILURES_PATH, listed);
  }

  #slowestFiles(modules: readonly TestModule[]): string {
    const seconds = (module: TestModule) => module.diagnostic().duration / 1000;
    const slowest = modules.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, MOST_LISTED);
    return slowest.map((module) => `${this.#path(module)} ${seconds(module).toFixed(1)} s`).join(", ");
  }

  /** A file that cannot be imported, or whose hooks fail, may have no failed test. */
  #failedFile(module: TestModule): readonly string[] {
    return module.errors().map(({ message }) => `  ${this.#path(module)}: ${firstLine(message)}`);
  }

  #failedTests(tests: readonly TestCase[]): readonly string[] {
    return tests
      .filter((test) => test.result().state === "failed")
      .map((test) => `  ${this.#path(test.module)} > ${test.fullName}${seedOf(test)}`);
  }

  #path({ moduleId }: TestModule): string {
    return relative(this.#root, moduleId);
  }
}

/** How many tests of each kind `--all` has beside these; null if none. */
function describeLeft(tests: readonly TestCase[]): string | null {
  const left = tests.filter(({ options }) => (options.tags ?? []).length > 0);
  const kinds = NEEDS.map(({ name, description }) => {
    // A test may need several things: the last one is the rarest.
    const count = left.filter(({ options }) => options.tags?.at(-1) === name).length;
    return count === 0 ? [] : [`${count} ${description}`];
  });
  return left.length === 0 ? null : `Left to scripts/test --all: ${left.length} tests (${kinds.flat().join(", ")})`;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

/** The seed of a property's counterexample, as fast-check prints it. A simulated world has its seed in the test's name. */
function seedOf(test: TestCase): string {
  const text = (test.result().errors ?? []).map(({ message }) => message).join("\n");
  const [seed] = /seed: ?-?\d+(?:, path: "[\d:]*")?/.exec(text) ?? [];
  return seed === undefined ? "" : ` (${seed})`;
}
