import { expect, onTestFinished, test, vi } from "vitest";

import { systemFileEvents } from "../../../../src/platform/files/file-events.ts";

test("file events: watcher cannot be created → reported with the system's code", async () => {
  vi.doMock("chokidar", () => ({
    FSWatcher: vi.fn(function refuse() {
      throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
    }),
  }));
  onTestFinished(() => void vi.doUnmock("chokidar"));
  const code = await new Promise((resolve) => {
    systemFileEvents.watch("/tmp", { onEvent() {}, onReady() {}, onFailure: resolve });
  });
  expect(code).toBe("EMFILE");
});
