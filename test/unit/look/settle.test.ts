import { appendFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { digestOfFiles } from "../../support/robot/digest.ts";
import { lookAround, type Robot, robot, type SteppedClock, snapshotOf, waitOf } from "./machine.ts";

const WHOLE_SECONDS = {
  changeStat: <Stat>(seen: Stat) => ({ ...seen, mtimeNs: 4_000_000_000n, ctimeNs: 4_000_000_000n }),
};

/** Changes the file every `periodMs` and looks after each change. @returns when the look gave a result, and the ids of its findings. */
async function keepChanging(
  { clock, collect }: Robot,
  periodMs: number,
  totalMs: number,
  change: (atMs: number) => Promise<void>,
) {
  const results: (readonly [atMs: number, ...ids: string[]])[] = [];
  for (let atMs = 0; atMs <= totalMs; atMs += periodMs) {
    await change(atMs);
    const collected = await collect();
    if (collected.kind === "snapshot") results.push([atMs, ...collected.warnings.map(({ id }) => id)]);
    if (collected.kind === "refused") results.push([atMs, ...collected.findings.map(({ id }) => id)]);
    clock.step(periodMs);
  }
  return results;
}

/** Looks as often as the looks ask for it. @returns the waits. */
async function waitsOf({ clock, collect }: Robot) {
  const waitsMs: number[] = [];
  for (let each = await collect(); each.kind === "unsettled" && waitsMs.length < 200; each = await collect()) {
    waitsMs.push(each.waitMs);
    clock.step(each.waitMs);
  }
  return waitsMs;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

describe("a file that changes", () => {
  test.each([
    ["that was written long ago → read at once", 501, 0],
    ["that was written just now → waits until it is as old as the settle time", 120, 380],
  ])("first look at a file %s", async (_what, ageMs, expectedMs) => {
    const { path, clock, collect } = await robot();
    // A hundredth more, because timestamps as floats are rounded.
    clock.setWall((await stat(path)).ctimeMs + ageMs + 0.01);
    const first = await collect();
    if (expectedMs > 0) {
      expect(first).toEqual({ kind: "unsettled", waitMs: expectedMs, paths: [path] });
      clock.step(expectedMs);
    }
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });

  test("whole seconds as timestamps: 2 s more, because the last write may be later than they tell", async () => {
    const { clock, look, paths, path } = await robot({ "a.conf": "x" }, WHOLE_SECONDS);
    clock.setWall(4000);
    expect(waitOf(await look.collect(paths))).toBe(2500);
    clock.step(2500);
    snapshotOf(await look.collect(paths));
    await writeFile(path, "longer");
    expect(waitOf(await look.collect(paths))).toBe(2500);
  });

  test("changed since the last look → waits for the settle time, and again after each change, whatever its timestamp says", async () => {
    const { path, clock, collect } = await robot();
    await collect();
    await writeFile(path, "one");
    expect(await collect()).toEqual({ kind: "unsettled", waitMs: 500, paths: [path] });
    clock.step(490);
    expect(waitOf(await collect())).toBe(10);
    await writeFile(path, "three");
    expect(waitOf(await collect())).toBe(500);
    clock.step(500);
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });

  test("several files → waits for the last to settle; unlisted files are ignored", async () => {
    const { folder, path, other, clock, collect } = await robot({ a: "", b: "", c: "" });
    await collect();
    await writeFile(path, "new");
    await collect();
    clock.step(300);
    await writeFile(other, "new");
    expect(await collect()).toEqual({ kind: "unsettled", waitMs: 500, paths: [path, other] });
    clock.step(300);
    await writeFile(join(folder, "busy.log"), "x");
    expect(await collect()).toEqual({ kind: "unsettled", waitMs: 200, paths: [other] });
    clock.step(200);
    snapshotOf(await collect());
  });

  test.each([
    ["a file from the future", async (path: string) => utimes(path, 4e9, 4e9 + 0.5), () => {}],
    ["scenario 3: a clock at 1970", async () => {}, (clock: SteppedClock) => clock.setWall(0)],
  ])("%s: seen unchanged for the settle time → settled", async (_what, change, setClock) => {
    const { path, clock, collect } = await robot();
    await change(path);
    setClock(clock);
    expect(waitOf(await collect())).toBe(500);
    clock.step(499);
    expect(waitOf(await collect())).toBe(1);
    clock.step(1);
    snapshotOf(await collect());
  });

  test.each([10, -10])(
    "scenario 4: wall clock steps %i years during the wait → the wait stays the same",
    async (years) => {
      const { path, clock, collect } = await robot();
      await collect();
      await writeFile(path, "new");
      expect(waitOf(await collect())).toBe(500);
      clock.step(100);
      clock.setWall(clock.wallMs() + years * 365 * 86_400_000);
      expect(waitOf(await collect())).toBe(400);
      clock.step(400);
      snapshotOf(await collect());
    },
  );

  test("scenario 28: keeps changing → named once its grace is over, and then once per grace; read when it holds still", async () => {
    const changing = await robot();
    const { path, clock, collect } = changing;
    const results = await keepChanging(changing, 250, 25_000, (atMs) => writeFile(path, `state ${atMs}`));
    expect(results).toEqual([[0], [10_750, "file_unstable"], [21_500, "file_unstable"]]);
    clock.step(500);
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
  });

  test("scenario 21: removed and written again and again → never missing", async () => {
    const changing = await robot();
    const { path } = changing;
    await changing.collect();
    const change = async (atMs: number) => (atMs % 500 === 0 ? rm(path) : writeFile(path, `state ${atMs}`));
    expect(await keepChanging(changing, 250, 12_000, change)).toEqual([[10_750, "file_unstable"]]);
  });

  test("settled in between → a new grace", async () => {
    const { path, clock, collect } = await robot({ a: "", b: "" });
    await collect();
    for (const content of ["1", "2", "3"]) {
      await writeFile(path, content);
      await collect();
      clock.step(9000);
      await collect();
    }
    await writeFile(path, "4");
    expect(waitOf(await collect())).toBe(500);
  });

  test("scenario 21: deleted and recreated within five seconds → one change; deleted → finding", async () => {
    const { path, clock, collect } = await robot();
    await collect();
    await rm(path);
    expect(waitOf(await collect())).toBe(5000);
    clock.step(4999);
    expect(waitOf(await collect())).toBe(1);
    await writeFile(path, "recreated");
    expect(waitOf(await collect())).toBe(500);
    clock.step(500);
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));

    await rm(path);
    clock.step(waitOf(await collect()));
    expect(await collect()).toMatchObject({ kind: "refused", findings: [{ id: "file_missing", path, entry: 0 }] });
  });

  test("missing from the start → finding after the settle time", async () => {
    const { path, clock, collect } = await robot();
    await rm(path);
    expect(waitOf(await collect())).toBe(500);
    clock.step(500);
    expect(await collect()).toMatchObject({ kind: "refused", findings: [{ id: "file_missing" }] });
  });

  test("without settling → read now, also when it looks half-written", async () => {
    const { path, look } = await robot({ "a.json": "[1]" });
    await writeFile(path, "{");
    const collected = await look.collect([path], { settle: false });
    expect(snapshotOf(collected).digest).toBe(await digestOfFiles(path));
    expect(collected).toMatchObject({ warnings: [{ id: "file_unparseable" }] });
  });
});

describe("content that looks half-written", () => {
  const suspects: readonly (readonly [what: string, name: string, content: string])[] = [
    ["torn JSON", "a.json", '{"a": '],
    ["torn YAML", "a.yaml", 'a: "'],
    ["JSON with comments", "a.json", "{} // mine"],
  ];

  test.each([
    ...suspects.map((suspect) => [...suspect, 10_500] as const),
    ["emptied", "a.bin", "", 60_000] as const,
    ["emptied JSON", "a.json", "", 60_000] as const,
  ])("%s → waited for, then hashed with a warning", async (_what, name, content, mostMs) => {
    const suspect = await robot({ [name]: "[1]" });
    const { path, clock, files, collect, look } = suspect;
    await collect();
    await writeFile(path, content);
    const waitsMs = await waitsOf(suspect);
    expect(sum(waitsMs)).toBe(mostMs);
    expect(Math.min(...waitsMs)).toBe(500);
    let collected = await collect();
    expect(snapshotOf(collected).digest).toBe(await digestOfFiles(path));
    const warned = { kind: "snapshot", warnings: [{ id: "file_unparseable", severity: "warning", path, entry: 0 }] };
    expect(collected).toMatchObject(warned);

    // The same content is not waited for again, however it returns, and the warning stays.
    await utimes(path, 1_500_000_000.5, 1_500_000_000.5);
    expect(await waitsOf(suspect)).toEqual([500]);
    collected = await collect();
    expect(collected).toMatchObject(warned);

    // Nor does the next process wait: it keeps the warning without reading the file.
    const restarted = lookAround({ files, clock });
    restarted.remember(snapshotOf(collected).files);
    expect(await restarted.collect([path])).toMatchObject({ ...warned, snapshot: { readBytes: 0 } });

    await writeFile(path, "[2]");
    expect(await waitsOf(suspect)).toEqual([500]);
    expect(await collect()).toMatchObject({ kind: "snapshot", warnings: [] });
    clock.step(2000);
    await collect();
    expect(await look.isUnchanged([path])).toBe(true);
  });

  test.each(["a.yaml", "a.conf", "a.json"])("%s that has always been empty → waited for only once", async (name) => {
    const empty = await robot({ [name]: "" });
    const { path, clock, files } = empty;
    const warnings = name === "a.json" ? [{ id: "file_unparseable" }] : [];
    clock.setWall((await stat(path)).ctimeMs + 9500);
    // It may have been created to be written.
    expect(sum(await waitsOf(empty))).toBeCloseTo(1000, -1);
    const collected = await empty.collect();
    expect(collected).toMatchObject({ kind: "snapshot", warnings });
    await utimes(path, 1_500_000_000.5, 1_500_000_000.5);
    expect(await waitsOf(empty)).toEqual([500]);

    const restarted = lookAround({ files, clock });
    restarted.remember(snapshotOf(collected).files);
    await rm(path);
    await writeFile(path, "");
    clock.step(600_000);
    expect(await restarted.collect([path])).toMatchObject({ kind: "snapshot", warnings });
  });

  test("emptied, then written in two parts after twelve seconds → one change", async () => {
    const { path, clock, collect } = await robot({ "arm.urdf": "<robot/>" });
    await collect();
    for (const [part, isDone] of [
      ["", false],
      ["<robot>", false],
      ["</robot>", true],
    ] as const) {
      await (part === "" ? writeFile(path, part) : appendFile(path, part));
      expect((await collect()).kind).toBe("unsettled");
      clock.step(part === "" ? 12_000 : 500);
      expect((await collect()).kind).toBe(isDone ? "snapshot" : "unsettled");
    }
  });

  test.each(suspects)("%s for longer than the grace → hashed at once", async (_what, name, content) => {
    const { path, collect } = await robot({ [name]: content });
    expect(await collect()).toMatchObject({ kind: "snapshot", warnings: [{ id: "file_unparseable", path }] });
  });

  test.each([
    [60_500, [[60_500, "file_unparseable"]]],
    [59_500, []],
  ])("other half-written contents for %i ms → 60 s in all", async (totalMs, results) => {
    const torn = await robot({ "a.json": "[]" });
    await torn.collect();
    const tear = (atMs: number) => (atMs % 6000 === 0 ? writeFile(torn.path, `[${atMs}`) : Promise.resolve());
    expect(await keepChanging(torn, 500, totalMs, tear)).toEqual(results);
  });

  test("complete in between → a new grace", async () => {
    const torn = await robot({ "a.json": "[]" });
    await torn.collect();
    for (const [content, expectedMs] of [
      ["[1", 9000],
      ["[2]", 500],
      ["[1", 10_500],
    ] as const) {
      await writeFile(torn.path, content);
      if (expectedMs === 9000) expect(await keepChanging(torn, 500, expectedMs, () => Promise.resolve())).toEqual([]);
      else expect(sum(await waitsOf(torn))).toBe(expectedMs);
    }
  });

  test("taken off the list and listed again → waited for again", async () => {
    const torn = await robot({ "a.json": "[1" });
    const { look, path, clock } = torn;
    await torn.collect();
    look.retain([path]);
    expect(await waitsOf(torn)).toEqual([]);
    look.retain([]);
    clock.setWall((await stat(path)).ctimeMs + 1000);
    expect(sum(await waitsOf(torn))).toBeCloseTo(9500, -1);
  });
});
