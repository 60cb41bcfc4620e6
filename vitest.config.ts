import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Tests start real programs and wait for real file events; a loaded two-core machine needs the room.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for costs no more than it takes; vitest's own second is less than a busy machine may need.
    expect: { poll: { timeout: 20_000 } },
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    // One worker runs many files: loading the sources anew for each took a third of the time. So what a test sets, it sets back.
    isolate: false,
    // Most tests wait for processes, not for the processor.
    maxWorkers: "100%",
  },
});
