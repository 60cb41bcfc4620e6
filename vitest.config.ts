import { availableParallelism } from "node:os";

import { defineConfig } from "vitest/config";

import { ClosingWords } from "./test/support/run/closing-words.ts";
import { LongestFirst } from "./test/support/run/longest-first.ts";
import { PATIENCE_MS } from "./test/support/run/patience.ts";
import { NEEDS } from "./test/support/run/tier.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/run/global-setup.ts"],
    setupFiles: ["test/support/run/each-file.ts"],
    reporters: [["default", { summary: false }], new ClosingWords()],
    tags: [...NEEDS],
    sequence: { sequencer: LongestFirst },
    slowTestThreshold: 5000,
    // The longest wait for one state. A test waits for several states, beside others, so its own limit is much longer.
    expect: { poll: { timeout: PATIENCE_MS } },
    testTimeout: 5 * PATIENCE_MS,
    hookTimeout: 5 * PATIENCE_MS,
    pool: "forks",
    // One worker runs many test files: isolated workers would load the sources again for each file, a third of the total time.
    // A test therefore restores whatever process state it changes.
    isolate: false,
    // Import packages by Node's rules, as the unbuilt sources do, not through Vitest's proxy for CommonJS modules.
    deps: { interopDefault: false },
    // Workers wait for half of their time: for programs, settle times and booting machines.
    maxWorkers: 2 * availableParallelism(),
    // Limit for `concurrent` tests of a file. They spend their time waiting, not computing.
    maxConcurrency: 10,
  },
});
