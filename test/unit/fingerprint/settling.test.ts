import { appendFile, open, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { describe, expect, test } from "vitest";

import { createFingerprinter } from "../../../src/fingerprint/fingerprint.ts";
import { createSettling } from "../../../src/fingerprint/settling.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import { LIMITS, REAL, SteppedClock, listed, robot, snapshotOf, temporaryFolder, waitOf } from "./machine.ts";

describe("collect: settle", () => {
  test("unchanged for the settle time → read at once", async () => {
    const { path, collect, passSince } = await robot();
    await passSince(path, 501);
    expect((await collect()).kind).toBe("snapshot");
  });

  test("fresh file → waits exactly until its settle time is over", async () => {
    const { path, clock, collect, passSince } = await robot();
    await collect();
    await writeFile(path, "new");
    await passSince(path, 120);
    const first = await collect();
    expect(first).toEqual({ kind: "unsettled", waitMs: 380, paths: [path] });
    clock.step(waitOf(first));
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });

  test("another change → the wait starts again", async () => {
    const { path, clock, collect, passSince } = await robot();
    await writeFile(path, "one");
    await passSince(path, 0);
    clock.step(waitOf(await collect()) - 10);
    await writeFile(path, "three");
    await passSince(path, 0);
    expect(waitOf(await collect())).toBe(500);
  });

  test("several files → waits for the last to settle; unlisted files are ignored", async () => {
    const { folder, paths, clock, collect, passSince } = await robot(["a.conf", "b.conf", "c.conf"]);
    await collect();
    await writeFile(paths[1]!, "new");
    await writeFile(join(folder, "busy.log"), "x");
    await passSince(paths[1]!, 300);
    expect(await collect()).toEqual({ kind: "unsettled", waitMs: 200, paths: [paths[1]] });
    await appendFile(join(folder, "busy.log"), "x");
    clock.step(200);
    expect((await collect()).kind).toBe("snapshot");
  });

  test.each([
    ["a file from the future", async (path: string) => utimes(path, 4e9, 4e9), () => {}],
    ["a clock at 1970", async () => {}, (clock: SteppedClock) => clock.setWall(0)],
  ])("%s: observed unchanged for the settle time → settled", async (_what, change, setClock) => {
    const { path, clock, collect } = await robot();
    await change(path);
    setClock(clock);
    expect(waitOf(await collect())).toBe(500);
    clock.step(499);
    expect(waitOf(await collect())).toBe(1);
    clock.step(1);
    expect((await collect()).kind).toBe("snapshot");
  });

  test.each([
    ["forward", 10 * 365 * 86_400_000],
    ["back", -10 * 365 * 86_400_000],
  ])("scenario 4: wall clock steps ten years %s during the wait → the wait stays the same", async (_what, stepMs) => {
    const { path, clock, collect, passSince } = await robot();
    await writeFile(path, "new");
    await passSince(path, 0);
    expect(waitOf(await collect())).toBe(500);
    clock.step(100);
    clock.setWall(clock.wallMs() + stepMs);
    expect(waitOf(await collect())).toBe(400);
    clock.step(400);
    expect((await collect()).kind).toBe("snapshot");
  });

  test("scenario 28: file that keeps changing → hashed once per grace", async () => {
    const { path, clock, collect, passSince } = await robot();
    const takenMs: number[] = [];
    for (let elapsedMs = 0; elapsedMs <= 25_000; elapsedMs += 250) {
      await writeFile(path, `state ${elapsedMs}`);
      await passSince(path, 0);
      const collected = await collect();
      if (collected.kind === "snapshot") {
        expect(collected.snapshot.digest).toBe(await digestOfFiles(path));
        takenMs.push(elapsedMs);
      }
      clock.step(250);
    }
    expect(takenMs).toEqual([10_000, 20_250]);
    clock.step(500);
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });

  test("file that keeps changing and never parses → waits two graces, then hashed once per grace with a finding", async () => {
    const { path, clock, collect, passSince } = await robot(["log.json"]);
    const takenMs: number[] = [];
    for (let elapsedMs = 0; elapsedMs <= 35_000; elapsedMs += 250) {
      await appendFile(path, `{"state": ${elapsedMs}`);
      await passSince(path, 100);
      const collected = await collect();
      if (collected.kind === "snapshot") {
        expect(collected.warnings.map(({ id }) => id)).toEqual(["file_unparseable", "file_restless"]);
        takenMs.push(elapsedMs);
      }
      clock.step(150);
    }
    expect(takenMs).toEqual([20_000, 30_250]);
  });

  describe("a file that keeps changing", () => {
    /** A file that was written completely every 250 ms for the grace. */
    async function restlessRobot() {
      const { path, clock, fingerprinter, collect, passSince } = await robot(["calibration.json"]);
      const write = async (content: string) => {
        clock.step(150);
        await writeFile(path, content);
        await passSince(path, 100);
      };
      const look = async (content: string) => {
        await write(content);
        return collect();
      };
      const passGrace = async () => {
        for (let elapsedMs = 0; elapsedMs < 10_000; elapsedMs += 250) {
          expect((await look(`{"state": ${elapsedMs}}`)).kind).toBe("unsettled");
        }
      };
      await passGrace();
      return { path, fingerprinter, write, look, passGrace };
    }

    test("half-written, but complete soon after → not hashed half-written", async () => {
      const { path, look } = await restlessRobot();
      for (const half of ["", '{"sta', '{"state": 1']) expect((await look(half)).kind).toBe("unsettled");
      const collected = await look('{"state": 12}');
      expect(snapshotOf(collected).digest).toBe(await digestOfFiles(path));
      expect(collected).toMatchObject({ warnings: [{ id: "file_restless" }] });
    });

    test("half-written after a one-shot check found it complete → waited for again", async () => {
      const { path, fingerprinter, write, look, passGrace } = await restlessRobot();
      expect((await look("")).kind).toBe("unsettled");
      await write('{"state": 12}');
      snapshotOf(await fingerprinter.collect(listed(path), { settle: false }));
      await passGrace();
      expect((await look('{"sta')).kind).toBe("unsettled");
    });
  });

  test("wait → never beyond the end of the grace", async () => {
    const { path, clock, collect, passSince } = await robot();
    await writeFile(path, "1");
    await passSince(path, 0);
    await collect();
    clock.step(9800);
    await writeFile(path, "2");
    await passSince(path, 0);
    expect(waitOf(await collect())).toBe(200);
  });

  test.each(["", "whole"])(
    "changes after longer than the grace without a check → a new grace (%j)",
    async (content) => {
      const { path, clock, collect, passSince } = await robot();
      await writeFile(path, content);
      await passSince(path, 400);
      expect(waitOf(await collect())).toBe(100);
      clock.step(3_600_000);
      await writeFile(path, `${content} and more`);
      await passSince(path, 400);
      expect(waitOf(await collect())).toBe(100);
    },
  );

  test("one-shot check → does not wait for the settle time", async () => {
    const { path, clock, fingerprinter, passSince } = await robot();
    await writeFile(path, "new");
    await passSince(path, 50);
    const collected = await fingerprinter.collect(listed(path), { settle: false });
    expect(snapshotOf(collected).digest).toBe(await digestOfFiles(path));
    expect(clock.sleepsMs).toEqual([]);
  });

  test("scenario 21: deleted and recreated within five seconds → one change; deleted → finding", async () => {
    const { path, clock, collect, passSince } = await robot();
    await collect();
    await rm(path);
    expect(waitOf(await collect())).toBe(5000);
    clock.step(4999);
    expect(waitOf(await collect())).toBe(1);
    await writeFile(path, "recreated");
    await passSince(path, 0);
    expect(waitOf(await collect())).toBe(500);
    clock.step(500);
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));

    await rm(path);
    clock.step(waitOf(await collect()));
    expect(await collect()).toMatchObject({ kind: "refused", findings: [{ id: "file_missing", path, index: 0 }] });
  });

  test("deleted and recreated again and again → hashed once per grace, never a finding", async () => {
    const { path, clock, collect, passSince } = await robot();
    await collect();
    const kinds: string[] = [];
    for (let elapsedMs = 0; elapsedMs < 20_000; elapsedMs += 500) {
      await rm(path);
      kinds.push((await collect()).kind);
      clock.step(250);
      await writeFile(path, `state ${elapsedMs}`);
      await passSince(path, 0);
      kinds.push((await collect()).kind);
      clock.step(250);
    }
    expect(kinds.filter((kind) => kind === "snapshot")).toHaveLength(1);
    expect(kinds).not.toContain("refused");
  });

  test("missing from the start → finding after the settle time", async () => {
    const { path, clock, collect } = await robot();
    await rm(path);
    expect(waitOf(await collect())).toBe(500);
    clock.step(500);
    expect(await collect()).toMatchObject({ kind: "refused", findings: [{ id: "file_missing" }] });
  });
});

describe("collect: content that looks half-written", () => {
  const suspects: readonly (readonly [what: string, name: string, content: string])[] = [
    ["torn JSON", "a.json", '{"a": '],
    ["torn YAML", "a.yaml", 'a: "'],
    ["JSON with comments", "a.json", "{} // mine"],
  ];

  test.each([
    ...suspects.map((suspect) => [...suspect, 10_000] as const),
    ["emptied", "a.bin", "", 60_000] as const,
    ["emptied JSON", "a.json", "", 60_000] as const,
  ])("%s → waited for, then hashed with a warning", async (_what, name, content, mostMs) => {
    const { path, clock, files, collect, passSince, fingerprinter } = await robot([name], "[1]");
    await collect();
    await writeFile(path, content);
    await passSince(path, 0);
    const waitsMs: number[] = [];
    let collected = await collect();
    for (; collected.kind === "unsettled" && waitsMs.length < 200; collected = await collect()) {
      waitsMs.push(collected.waitMs);
      clock.step(collected.waitMs);
    }
    const totalMs = waitsMs.reduce((total, waitMs) => total + waitMs, 0);
    expect(totalMs).toBe(mostMs);
    expect(Math.min(...waitsMs)).toBe(500);
    expect(snapshotOf(collected).digest).toBe(await digestOfFiles(path));
    expect(collected).toMatchObject({ warnings: [{ id: "file_unparseable", severity: "warning", path, index: 0 }] });

    // The same content is not waited for again, however it returns, and the warning stays.
    await utimes(path, 1_500_000_000.5, 1_500_000_000.5);
    await passSince(path, 600);
    collected = await collect();
    expect(collected).toMatchObject({ kind: "snapshot", warnings: [{ id: "file_unparseable" }] });

    // Nor does the next process wait: it keeps the warning without reading the file.
    const restarted = createFingerprinter({ files, clock }, LIMITS);
    restarted.remember(snapshotOf(collected).files);
    expect(await restarted.collect(listed(path), { settle: true })).toMatchObject({
      kind: "snapshot",
      snapshot: { readBytes: 0 },
      warnings: [{ id: "file_unparseable" }],
    });

    await writeFile(path, "[2]");
    await passSince(path, 600);
    expect(await collect()).toMatchObject({ kind: "snapshot", warnings: [] });
    expect(fingerprinter.isUnchanged(listed(path))).toBe(true);
  });

  test.each(["a.yaml", "a.conf", "a.json"])(
    "%s that has always been empty → not waited for at each change",
    async (name) => {
      const { path, collect, passSince, files, clock } = await robot([name], "");
      const warnings = name === "a.json" ? [{ id: "file_unparseable" }] : [];
      await passSince(path, 9500);
      // It may have been created to be written.
      expect(waitOf(await collect())).toBe(500);
      clock.step(500);
      const collected = await collect();
      expect(collected).toMatchObject({ kind: "snapshot", warnings });
      await utimes(path, 1_500_000_000.5, 1_500_000_000.5);
      await passSince(path, 501);
      expect(await collect()).toMatchObject({ kind: "snapshot", warnings });

      const restarted = createFingerprinter({ files, clock }, LIMITS);
      restarted.remember(snapshotOf(collected).files);
      await rm(path);
      await writeFile(path, "");
      await passSince(path, 501);
      expect(await restarted.collect(listed(path), { settle: true })).toMatchObject({ kind: "snapshot", warnings });
    },
  );

  test("emptied, then written in two parts after twelve seconds → one change", async () => {
    const { path, collect, passSince } = await robot(["arm.urdf"], "<robot/>");
    await collect();
    await writeFile(path, "");
    await passSince(path, 12_000);
    expect((await collect()).kind).toBe("unsettled");
    await writeFile(path, "<robot>");
    await passSince(path, 501);
    expect((await collect()).kind).toBe("unsettled");
    await appendFile(path, "</robot>");
    await passSince(path, 501);
    expect(await collect()).toMatchObject({ kind: "snapshot", warnings: [] });
  });

  test.each(suspects)("%s for longer than the grace → hashed at once", async (_what, name, content) => {
    const { path, collect, passSince } = await robot([name], content);
    await passSince(path, 10_001);
    expect(await collect()).toMatchObject({ kind: "snapshot", warnings: [{ id: "file_unparseable", path }] });
  });

  test("touch → the grace is not extended", async () => {
    const { path, clock, collect, passSince } = await robot(["a.json"], "{");
    await passSince(path, 500);
    await collect();
    for (let elapsedMs = 0; elapsedMs < 10_000; elapsedMs += 1000) {
      expect((await collect()).kind).toBe("unsettled");
      await utimes(path, 1_600_000_000.5, 1_600_000_000.5 + elapsedMs);
      clock.step(400);
      await passSince(path, 600);
    }
    expect((await collect()).kind).toBe("snapshot");
  });

  test("one-shot check → hashed with the warning", async () => {
    const { path, fingerprinter } = await robot(["a.json"], "{");
    const collected = await fingerprinter.collect(listed(path), { settle: false });
    expect(collected).toMatchObject({ kind: "snapshot", warnings: [{ id: "file_unparseable" }] });
  });

  test("written in place in three chunks → only the complete content is hashed", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "calibration.json");
    const old = JSON.stringify({ shoulder: 1 });
    await writeFile(path, old);
    const fingerprinter = createFingerprinter(REAL, { ...LIMITS, settleMs: 50 });
    const taken = new Set<string>();
    const collectOnce = async () => {
      const collected = await fingerprinter.collect(listed(path), { settle: true });
      if (collected.kind === "snapshot") taken.add(collected.snapshot.digest);
      return collected.kind;
    };
    while ((await collectOnce()) !== "snapshot") await sleep(5);
    const before = await digestOfFiles(path);

    const text = JSON.stringify({ joints: Array.from({ length: 50 }, (_, id) => ({ id, offset: id * 3 })) });
    const third = Math.ceil(text.length / 3);
    const write = async () => {
      const file = await open(path, "w");
      for (let at = 0; at < text.length; at += third) {
        await sleep(150);
        await file.write(text.slice(at, at + third));
      }
      await file.close();
    };
    const writing = new AbortController();
    const written = write().finally(() => writing.abort());
    while (!writing.signal.aborted) {
      await collectOnce();
      await sleep(5);
    }
    await written;
    while ((await collectOnce()) !== "snapshot") await sleep(5);
    expect([...taken]).toEqual([before, await digestOfFiles(path)]);
  });

  test("scenario 21: rename over the file → one change", async () => {
    const { folder, path, clock, collect, passSince } = await robot(["a.json"]);
    await collect();
    await writeFile(join(folder, ".a.json.swp"), '{"new": 1}');
    await rename(join(folder, ".a.json.swp"), path);
    await passSince(path, 0);
    clock.step(waitOf(await collect()));
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });
});

describe("createSettling", () => {
  const PATH = "/etc/arm.yaml";
  const FIRST = { sha256: "a".repeat(64), bytes: 1, suspect: true };
  const SECOND = { sha256: "b".repeat(64), bytes: 2, suspect: true };

  function start() {
    const clock = new SteppedClock();
    return { clock, settling: createSettling(clock, LIMITS) };
  }

  test("the grace of a changing file → exactly ten seconds", () => {
    const { clock, settling } = start();
    expect(settling.isUnsettled(PATH)).toBe(false);
    expect(settling.settleWaitMs(PATH, 0)).toBe(500);
    expect(settling.isUnsettled(PATH)).toBe(true);
    clock.step(9999);
    expect([settling.isRestless(PATH), settling.settleWaitMs(PATH, 0)]).toEqual([false, 1]);
    clock.step(1);
    expect([settling.isRestless(PATH), settling.settleWaitMs(PATH, 0)]).toEqual([true, 0]);
  });

  test.each([
    [
      "the file settled",
      (path: string, { settleWaitMs }: ReturnType<typeof createSettling>) => settleWaitMs(path, 500),
    ],
    [
      "its half-written content settled",
      (path: string, { incompleteWaitMs }: ReturnType<typeof createSettling>) => incompleteWaitMs(path, FIRST, 500),
    ],
    ["it was taken or refused", (path: string, { restart }: ReturnType<typeof createSettling>) => restart(path)],
  ])("changes after %s → a new grace", (_what, end) => {
    const { clock, settling } = start();
    settling.settleWaitMs(PATH, 0);
    clock.step(9000);
    end(PATH, settling);
    expect(settling.isUnsettled(PATH)).toBe(false);
    clock.step(9000);
    expect([settling.settleWaitMs(PATH, 0), settling.isRestless(PATH)]).toEqual([500, false]);
    clock.step(9999);
    expect([settling.settleWaitMs(PATH, 0), settling.isRestless(PATH)]).toEqual([1, false]);
  });

  test("incomplete contents that settle in between → one grace each; those of a file that keeps changing → one grace together", () => {
    const { clock, settling } = start();
    settling.settleWaitMs(PATH, 0);
    expect(settling.incompleteWaitMs(PATH, FIRST, 0)).toBe(500);
    clock.step(9900);
    settling.settleWaitMs(PATH, 500);
    expect(settling.incompleteWaitMs(PATH, FIRST, 500)).toBe(100);
    expect(settling.incompleteWaitMs(PATH, SECOND, 0)).toBe(500);

    settling.settleWaitMs(PATH, 0);
    clock.step(10_000);
    expect(settling.isRestless(PATH)).toBe(true);
    expect(settling.incompleteWaitMs(PATH, FIRST, 0)).toBe(0);
  });

  test("content that was complete in between or accepted → not waited for", () => {
    const { clock, settling } = start();
    settling.incompleteWaitMs(PATH, FIRST, 0);
    clock.step(9900);
    settling.clear(PATH);
    expect(settling.incompleteWaitMs(PATH, FIRST, 0)).toBe(500);
    settling.accept(PATH, FIRST);
    expect(settling.incompleteWaitMs(PATH, FIRST, 0)).toBe(0);
    expect(settling.incompleteWaitMs(PATH, SECOND, 0)).toBe(500);
  });

  test("no check for exactly the grace → the wait continues; for longer → it starts again", () => {
    const { clock, settling } = start();
    settling.settleWaitMs(PATH, 0);
    settling.incompleteWaitMs(PATH, FIRST, 0);
    clock.step(10_000);
    settling.resume(10_000);
    expect([settling.isRestless(PATH), settling.incompleteWaitMs(PATH, FIRST, 0)]).toEqual([true, 0]);
    settling.resume(10_001);
    expect([settling.isRestless(PATH), settling.incompleteWaitMs(PATH, FIRST, 0)]).toEqual([false, 500]);
  });

  test("files off the list → forgotten", () => {
    const { clock, settling } = start();
    settling.settleWaitMs(PATH, 0);
    settling.incompleteWaitMs(PATH, FIRST, 0);
    settling.accept(PATH, SECOND);
    clock.step(10_000);
    settling.retain(new Set([PATH]));
    expect([settling.isRestless(PATH), settling.incompleteWaitMs(PATH, SECOND, 0)]).toEqual([true, 0]);
    settling.retain(new Set());
    expect(settling.isRestless(PATH)).toBe(false);
    expect(settling.incompleteWaitMs(PATH, FIRST, 0)).toBe(500);
    expect(settling.incompleteWaitMs(PATH, SECOND, 0)).toBe(500);
  });
});
