import { mkdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { createVerification } from "../../../src/look/verify.ts";
import { createWatch } from "../../../src/look/watch.ts";
import type { DirectoryListener } from "../../../src/platform/files/file-events.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { SteppedClock, temporaryFolder } from "./machine.ts";

/** A watch of `up/a/file` and `up/b/file`, whose events the test sends. */
async function watching() {
  const folder = await realpath(await temporaryFolder());
  const up = join(folder, "up");
  const [a, b] = [join(up, "a"), join(up, "b")];
  for (const each of [a, b]) {
    await mkdir(each, { recursive: true });
    await writeFile(join(each, "file"), "");
  }
  const listeners = new Map<string, DirectoryListener>();
  const counts = { changes: 0, gone: 0, started: 0 };
  let mounts = "";
  const watch = createWatch({
    files: { ...systemFiles, mountsNow: () => mounts },
    events: {
      watch(directory, listener) {
        if (directory.startsWith(up)) counts.started += 1;
        listeners.set(directory, listener);
        return { close: () => void listeners.delete(directory) };
      },
    },
    onChange: () => void (counts.changes += 1),
    onGone: () => void (counts.gone += 1),
  });
  const followBoth = () => watch.follow([join(a, "file"), join(b, "file")]);
  const mount = (...drives: readonly string[]) => {
    const lines = drives.map((place, index) => `${index + 2} 1 0:9 / ${place} rw - nfs4 server:/x rw`);
    mounts = ["1 0 8:1 / / rw - ext4 /dev/root rw", ...lines].join("\n");
  };
  mount();
  await followBoth();
  return { up, a, b, watch, followBoth, mount, counts, of: (path: string) => listeners.get(path) };
}

type Watching = Awaited<ReturnType<typeof watching>>;

const EVENTS = { mode: "events", reason: null };

test.each<[what: string, changes: number, gone: number, send: (listener: DirectoryListener) => void]>([
  ["event of a file", 1, 0, (listener) => listener.onEvent("file")],
  ["event of another name", 0, 0, (listener) => listener.onEvent("neighbour.log")],
  ["ready: the time before was not watched", 1, 0, (listener) => listener.onReady()],
  ["the folder itself is gone: its replacement may be another disk", 1, 1, (listener) => listener.onEvent(null)],
])("%s → %i changes, %i gone", async (_what, changes, gone, send) => {
  const { a, of, counts, followBoth } = await watching();
  const listener = of(a);
  if (listener === undefined) throw new Error("not watched");
  send(listener);
  expect(counts).toEqual({ changes, gone, started: 3 });
  await followBoth();
  expect(counts.started).toBe(3 + gone);
});

test("other files of the same folders → no new watch, new names apply", async () => {
  const { a, b, watch, of, counts } = await watching();
  await watch.follow([join(a, "other"), join(b, "file")]);
  of(a)?.onEvent("file");
  expect(counts).toMatchObject({ started: 3, changes: 0 });
  of(a)?.onEvent("other");
  expect(counts.changes).toBe(1);
});

test("another folder at the same path → new watch", async () => {
  const { a, followBoth, counts } = await watching();
  await rename(a, `${a}.old`);
  await mkdir(a);
  await followBoth();
  expect(counts.started).toBe(4);
});

test.each<[what: string, end: (of: Watching) => unknown]>([
  ["no longer on the way", ({ b, watch }) => watch.follow([join(b, "file")])],
  ["removed", ({ a, followBoth }) => rm(a, { recursive: true }).then(followBoth)],
  ["all is closed", ({ watch }) => watch.close()],
])("%s → its watch is closed", async (_what, end) => {
  const closed = await watching();
  await end(closed);
  expect(closed.of(closed.a)).toBeUndefined();
  expect(closed.watch.mode).toEqual(EVENTS);
});

test.each([
  ["ENOSPC", "all inotify watches are in use (raise fs.inotify.max_user_watches)"],
  ["EMFILE", "all inotify instances are in use (raise fs.inotify.max_user_instances)"],
  ["EACCES", "no permission to read it"],
  ["EIO", "EIO"],
])("scenario 25: %s on a watch → polls with the reason, until a retry succeeds", async (code, reason) => {
  const { a, b, watch, of, counts, followBoth } = await watching();
  const polling = { mode: "polling", reason: `${a} cannot be watched: ${reason}` };
  of(a)?.onFailure(code);
  expect(watch.mode).toEqual(polling);
  await followBoth();
  expect(counts.started).toBe(4);
  expect(watch.mode).toEqual(polling);
  of(a)?.onReady();
  expect(watch.mode).toEqual(EVENTS);
  of(a)?.onFailure(code);
  await watch.follow([join(b, "file")]);
  expect(watch.mode).toEqual(EVENTS);
});

test.each(["EACCES", "EPERM"])("folder above that may be entered but not listed (%s) → done without", async (code) => {
  const { up, watch, of, followBoth } = await watching();
  of(up)?.onFailure(code);
  expect(watch.mode).toEqual(EVENTS);
  await followBoth();
  expect(watch.mode).toEqual(EVENTS);
  of(up)?.onFailure("ENOSPC");
  expect(watch.mode.mode).toBe("polling");
});

test("scenario 26: a file or its folder becomes a network drive → its watch is closed, polls with the reason; until it is none", async () => {
  const { a, watch, of, counts, followBoth, mount } = await watching();
  for (const drive of [a, join(a, "file")]) {
    mount(drive);
    await followBoth();
    expect(of(a)).toBeUndefined();
    expect(watch.mode).toEqual({ mode: "polling", reason: expect.stringContaining(`${a} reports no changes`) });
    const { started } = counts;
    await followBoth();
    expect(counts.started).toBe(started);
    mount();
    await followBoth();
    of(a)?.onReady();
    expect(watch.mode).toEqual(EVENTS);
  }
});

test("createVerification: all files at once, small ones hourly, all daily (- 10 %), one at a time, until the end; changes are told", async () => {
  const clock = new SteppedClock();
  const scopes: (readonly [hours: number, limitBytes: number])[] = [];
  const told: (readonly string[])[] = [];
  const aborter = new AbortController();
  let running: PromiseWithResolvers<readonly string[]>;
  const startedMs = clock.monotonicMs();
  const random = { unit: () => 0, bytes: () => new Uint8Array() };
  const verifyIfDue = createVerification({
    machine: { clock, random },
    look: {
      verify(limitBytes) {
        scopes.push([(clock.monotonicMs() - startedMs) / 3_600_000, limitBytes]);
        running = Promise.withResolvers();
        return running.promise;
      },
    },
    signal: aborter.signal,
    onChanged: (paths) => void told.push(paths),
  });
  for (let quarters = 0; quarters < 4 * 26; quarters += 1) {
    verifyIfDue();
    verifyIfDue();
    const [hours] = scopes.at(-1) ?? [0];
    // The second one hangs for two hours.
    if (hours !== 1 || quarters === 12) running!.resolve(hours === 4 ? ["/a"] : []);
    await new Promise(setImmediate);
    clock.step(900_000);
  }
  const small = [1, ...Array.from({ length: 18 }, (_, index) => index + 4), 23, 24, 25];
  const all = [0, 22];
  const limitAt = (hours: number) => [hours, all.includes(hours) ? Infinity : 16 * 1024 * 1024];
  expect(scopes).toEqual([...all, ...small].toSorted((one, other) => one - other).map(limitAt));
  expect(told).toEqual([["/a"]]);
  verifyIfDue();
  aborter.abort();
  running!.reject(new Error("aborted"));
  // An unhandled rejection would end the agent, and fails this test.
  await new Promise(setImmediate);
});
