import { relative } from "node:path";

import type { Reporter, TestModule, Vitest } from "vitest/node";

const MOST_LISTED = 10;

/** Names the ten slowest test files at the end of a run. */
export class SlowestFiles implements Reporter {
  #root = "";

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const seconds = (module: TestModule) => module.diagnostic().duration / 1000;
    const slowest = modules.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, MOST_LISTED);
    const listed = slowest.map((module) => `${relative(this.#root, module.moduleId)} ${seconds(module).toFixed(1)} s`);
    console.log(`Slowest files: ${listed.join(", ")}`);
  }
}
