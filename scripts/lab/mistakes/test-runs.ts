import { readFileSync, writeFileSync } from "node:fs";

import type { TestModule, TestSpecification, Vitest } from "vitest/node";

/** A mistake can make a loop endless, which fills the memory and keeps the worker from ending: it is then killed. */
const RUN_LIMIT_MS = 120_000;

/** `unclear`: it took too long, or failed before its tests, perhaps not because of the mistake. */
type Outcome = "passed" | "failed" | "unclear";

/** Runs test files with and without a mistake. Remembers those that fail without one, because the copy or the machine lacks something. */
export class TestRuns {
  readonly #vitest: Vitest;
  readonly #build: (file: string) => Promise<void>;
  readonly #sound = new Set<string>();
  readonly #failing = new Set<string>();

  /** @param build makes what tests run instead of the file itself. */
  constructor(vitest: Vitest, build: (file: string) => Promise<void>) {
    this.#vitest = vitest;
    this.#build = build;
  }

  /** Whether the tests fail only with the mistake; null when they fail without it too. */
  async notice(
    specification: TestSpecification,
    file: string,
    { source, planted }: { readonly source: string; readonly planted: string },
  ): Promise<boolean | null> {
    const { moduleId } = specification;
    if (this.#failing.has(moduleId)) return null;
    const outcome = await this.#runWith(planted, file, specification);
    if (outcome === "passed") return false;
    if (outcome === "unclear" || !this.#sound.has(moduleId)) {
      const without = await this.#runWith(source, file, specification);
      if (without === "failed") {
        this.#failing.add(moduleId);
        console.log(`left out: ${moduleId.slice(moduleId.lastIndexOf("/test/") + 1)} fails without any mistake`);
      }
      if (without !== "passed") return null;
      this.#sound.add(moduleId);
    }
    // The machine may have caused a timeout, so such a run is repeated.
    return outcome === "failed" || (await this.#runWith(planted, file, specification)) !== "passed";
  }

  async #runWith(text: string, file: string, specification: TestSpecification): Promise<Outcome> {
    const source = readFileSync(file, "utf8");
    this.#write(file, text);
    await this.#build(file);
    let isKilled = false;
    const limit = setTimeout(() => {
      isKilled = true;
      void this.#killWorker();
    }, RUN_LIMIT_MS);
    try {
      const { testModules, unhandledErrors } = await this.#vitest.runTestSpecifications([specification]);
      // Tests that were cancelled count as skipped.
      if (isKilled) return "unclear";
      // Vitest returns all files that it has run so far, including those that failed by an earlier mistake.
      const own = testModules.filter(({ moduleId }) => moduleId === specification.moduleId);
      if (own.length > 0 && own.every((module) => module.ok()) && unhandledErrors.length === 0) return "passed";
      const isFailure = (message: string) => !/timed out|\[vitest/i.test(message);
      return own.flatMap(failuresOf).some(isFailure) ? "failed" : "unclear";
    } finally {
      clearTimeout(limit);
      this.#write(file, source);
    }
  }

  /** The first cancellation asks the worker to end; at the second vitest kills it. */
  async #killWorker(): Promise<void> {
    await Promise.all([this.#vitest.cancelCurrentRun("test-failure"), this.#vitest.cancelCurrentRun("test-failure")]);
  }

  #write(file: string, text: string): void {
    writeFileSync(file, text);
    this.#vitest.invalidateFile(file);
  }
}

/** Messages of failed assertions, and of errors that kept the file from running. */
function failuresOf(module: TestModule): readonly string[] {
  const failed = [...module.children.allTests("failed")].flatMap((test) => test.result().errors ?? []);
  return [...module.errors(), ...failed].map(({ message }) => message);
}
