import { setImmediate as nextTurn } from "node:timers/promises";

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

test("file events: closed before the watcher fails to load → its failure is not reported", async () => {
  const loaded = Promise.withResolvers<void>();
  vi.doMock("chokidar", async () => {
    await loaded.promise;
    throw new Error("cannot be loaded");
  });
  onTestFinished(() => void vi.doUnmock("chokidar"));
  const failures: string[] = [];
  const watch = systemFileEvents.watch("/tmp", {
    onEvent() {},
    onReady() {},
    onFailure: (code) => failures.push(code),
  });
  watch.close();
  loaded.resolve();
  await expect(import("chokidar")).rejects.toThrow();
  await nextTurn();
  expect(failures).toEqual([]);
});
