import { describe, expect, test } from "vitest";

import { EMPTY_PLAN, type PlannedDirectory, type WatchPlan } from "../../../../src/agent/watching/watch-plan.ts";
import { createWatcher } from "../../../../src/agent/watching/watcher.ts";
import type { DirectoryListener, FileEvents } from "../../../../src/platform/files/file-events.ts";

function planOf(directories: Readonly<Record<string, Partial<PlannedDirectory>>>): WatchPlan {
  const whole = Object.entries(directories).map(([path, planned]): [string, PlannedDirectory] => [
    path,
    { id: "one", names: new Set(["file"]), holdsTarget: true, reportsChanges: true, ...planned },
  ]);
  return { ...EMPTY_PLAN, directories: new Map(whole) };
}

/** A watcher whose events the test sends. */
function watcherUnderTest() {
  const listeners = new Map<string, DirectoryListener>();
  const counts = { changes: 0, gone: 0, modes: 0, started: 0 };
  const events: FileEvents = {
    watch(directory, listener) {
      counts.started += 1;
      listeners.set(directory, listener);
      return { close: () => void listeners.delete(directory) };
    },
  };
  const watcher = createWatcher({
    events,
    onChange: () => void (counts.changes += 1),
    onGone: () => void (counts.gone += 1),
    onMode: () => void (counts.modes += 1),
  });
  return { watcher, listeners, counts };
}

describe("watcher", () => {
  test("event of a planned name → change", () => {
    const { watcher, listeners, counts } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {} }));
    listeners.get("/a")?.onEvent("file");
    expect(counts).toMatchObject({ changes: 1, gone: 0 });
  });

  test("event of another name → no change", () => {
    const { watcher, listeners, counts } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {} }));
    listeners.get("/a")?.onEvent("neighbour.log");
    expect(counts.changes).toBe(0);
  });

  test("event of the directory itself → change, its observations are dropped", () => {
    const { watcher, listeners, counts } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {} }));
    listeners.get("/a")?.onEvent(null);
    expect(counts).toMatchObject({ changes: 1, gone: 1 });
  });

  test("ready → change, because the time before was not watched", () => {
    const { watcher, listeners, counts } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {} }));
    listeners.get("/a")?.onReady();
    expect(counts.changes).toBe(1);
  });

  test("same directories again → no new watch, new names apply", () => {
    const { watcher, listeners, counts } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {} }));
    watcher.follow(planOf({ "/a": { names: new Set(["other"]) } }));
    expect(counts.started).toBe(1);
    listeners.get("/a")?.onEvent("other");
    expect(counts.changes).toBe(1);
  });

  test("another directory at the same path → new watch", () => {
    const { watcher, counts } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {} }));
    watcher.follow(planOf({ "/a": { id: "two" } }));
    expect(counts.started).toBe(2);
  });

  test("watched folder in which a file is mounted by itself, or becomes planned later → closed, polls with the reason", () => {
    const { watcher, listeners } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {} }));
    watcher.follow(planOf({ "/a": { reportsChanges: false } }));
    expect([...listeners.keys()]).toEqual([]);
    expect(watcher.mode()).toEqual({ mode: "polling", reason: expect.stringContaining("/a reports no changes") });
  });

  test("no longer planned → closed", () => {
    const { watcher, listeners } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {}, "/b": {} }));
    watcher.follow(planOf({ "/b": {} }));
    expect([...listeners.keys()]).toEqual(["/b"]);
  });

  test("scenario 25: failed watch → polls with the reason, not retried at every check", () => {
    const { watcher, listeners, counts } = watcherUnderTest();
    const plan = planOf({ "/a": {}, "/b": {} });
    watcher.follow(plan);
    listeners.get("/a")?.onFailure("ENOSPC");
    watcher.follow(plan);
    expect(watcher.mode()).toMatchObject({ mode: "polling", reason: expect.stringContaining("max_user_watches") });
    expect(counts).toMatchObject({ started: 2, modes: 1 });
  });

  test("scenario 25: retry → stays in polling until the directory is watched", () => {
    const { watcher, listeners, counts } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {} }));
    listeners.get("/a")?.onFailure("EMFILE");
    watcher.retry();
    expect(watcher.mode().mode).toBe("polling");
    listeners.get("/a")?.onReady();
    expect(watcher.mode().mode).toBe("events");
    expect(counts.modes).toBe(2);
  });

  test("scenario 26: filesystem without change events → polled, not watched", () => {
    const { watcher, counts } = watcherUnderTest();
    watcher.follow(planOf({ "/nfs": { reportsChanges: false } }));
    watcher.retry();
    expect(watcher.mode()).toMatchObject({ mode: "polling", reason: expect.stringContaining("/nfs") });
    expect(counts.started).toBe(0);
    watcher.follow(planOf({ "/local": {} }));
    expect(watcher.mode().mode).toBe("events");
  });

  test("close → all watches closed", () => {
    const { watcher, listeners } = watcherUnderTest();
    watcher.follow(planOf({ "/a": {}, "/b": {} }));
    watcher.close();
    expect(listeners.size).toBe(0);
  });

  test("renew → the next check watches everything again", () => {
    const { watcher, counts } = watcherUnderTest();
    const plan = planOf({ "/a": {}, "/b": {} });
    watcher.follow(plan);
    watcher.renew();
    watcher.follow(plan);
    expect(counts.started).toBe(4);
  });

  test.each(["EACCES", "EPERM"])("folder above without list permission (%s) → ignored", (code) => {
    const { watcher, listeners, counts } = watcherUnderTest();
    const plan = planOf({ "/home/ann": { holdsTarget: false }, "/home/ann/cal": {} });
    watcher.follow(plan);
    listeners.get("/home/ann")?.onFailure(code);
    expect(watcher.mode()).toEqual({ mode: "events", reason: null });
    watcher.follow(plan);
    watcher.retry();
    expect(counts.started).toBe(2);
    watcher.follow(planOf({ "/home/ann": { holdsTarget: false, id: "another" }, "/home/ann/cal": {} }));
    expect(counts.started).toBe(3);
  });

  test("the file's folder without list permission → polls, with the reason", () => {
    const { watcher, listeners } = watcherUnderTest();
    watcher.follow(planOf({ "/home/ann/cal": {} }));
    listeners.get("/home/ann/cal")?.onFailure("EACCES");
    expect(watcher.mode()).toEqual({
      mode: "polling",
      reason: "/home/ann/cal cannot be watched: no permission to read it",
    });
  });
});
