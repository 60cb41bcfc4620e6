import { availableParallelism } from "node:os";

import { defineConfig } from "vitest/config";

import { LongestFirst } from "./test/support/run/longest-first.ts";
import { PATIENCE_MS } from "./test/support/run/patience.ts";
import { SlowestFiles } from "./test/support/run/slowest-files.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/run/global-setup.ts"],
    setupFiles: ["test/support/run/show-outputs.ts"],
    // The default's list of every test that took a while is longer than what it tells.
    reporters: [["default", { summary: false }], new SlowestFiles()],
    sequence: { sequencer: LongestFirst },
    slowTestThreshold: 5000,
    // One limit for a state that must come; a test may wait for several.
    expect: { poll: { timeout: PATIENCE_MS } },
    testTimeout: 2 * PATIENCE_MS,
    hookTimeout: 2 * PATIENCE_MS,
    pool: "forks",
    // One worker runs many files: loading the sources anew for each took a third of the time. So what a test sets, it sets back.
    isolate: false,
    // What packages export is what Node says, as when the sources run unbuilt; not a proxy that looks twice.
    deps: { interopDefault: false },
    // Half of what a worker does is to wait: for programs, settle times, machines that boot.
    maxWorkers: 2 * availableParallelism(),
    // Tests that run beside each other do so because they wait.
    maxConcurrency: 10,
  },
});
