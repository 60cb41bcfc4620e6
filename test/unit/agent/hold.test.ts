import { existsSync } from "node:fs";
import { chmod, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { describe, expect, test } from "vitest";

import { type Hold, readHoldNow, writeHold } from "../../../src/agent/hold.ts";
import { runAgentProgram } from "../../../src/agent/program.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { SteppedClock, temporaryFolder } from "../look/machine.ts";
import { runInProcess } from "../../support/programs/in-process.ts";
import { HeldClock, type RunningRobot, runningRobot } from "./robot-in-process.ts";

const HOUR_MS = 3_600_000;

async function place() {
  const folder = await temporaryFolder();
  const clock = new SteppedClock();
  const path = join(folder, "hold.json");
  const hold = (changes: Partial<Hold> = {}) => {
    const sinceMs = clock.monotonicMs();
    return writeHold(systemFiles, path, {
      heldBy: "ana",
      reason: null,
      sinceMs,
      untilMs: sinceMs + HOUR_MS,
      ...changes,
    });
  };
  const read = () => readHoldNow({ runtimeDirectory: folder }, { machine: { files: systemFiles, clock } });
  return { folder, clock, path, hold, read };
}

describe("readHold", () => {
  test("no file → none; a hold → who, why and until when; its time is over → none", async () => {
    const { clock, hold, read } = await place();
    expect(await read()).toEqual({ kind: "none" });
    await hold({ reason: "both\u001B[31m arms" });
    expect(await read()).toMatchObject({ kind: "held", hold: { heldBy: "ana", reason: "both[31m arms" } });
    clock.step(HOUR_MS - 1);
    expect((await read()).kind).toBe("held");
    clock.step(1);
    expect(await read()).toEqual({ kind: "none" });
  });

  test("a wall clock that is set → the same time", async () => {
    const { clock, hold, read } = await place();
    await hold();
    clock.setWall(0);
    clock.step(HOUR_MS - 1);
    expect((await read()).kind).toBe("held");
  });

  test("longer than eight hours → eight hours", async () => {
    const { clock, hold, read } = await place();
    await hold({ untilMs: clock.monotonicMs() + 1000 * HOUR_MS });
    clock.step(8 * HOUR_MS - 1);
    expect((await read()).kind).toBe("held");
    clock.step(1);
    expect((await read()).kind).toBe("none");
  });

  const VALID = { schema_version: 1, held_by: "ana", reason: null, since_monotonic_ms: 0, for_ms: HOUR_MS };

  test.each<[what: string, spoil: (path: string) => Promise<unknown>, why: string]>([
    [
      "from the future",
      (path) => writeFile(path, JSON.stringify({ ...VALID, since_monotonic_ms: 1e9 })),
      "is from the future",
    ],
    ["no JSON", (path) => writeFile(path, "{"), "is no hold of this program"],
    ["empty", (path) => writeFile(path, ""), "is no hold of this program"],
    ["of another version", (path) => writeFile(path, JSON.stringify({ ...VALID, schema_version: 2 })), "is no hold"],
    ["without an end", (path) => writeFile(path, JSON.stringify({ ...VALID, for_ms: null })), "is no hold"],
    ["huge", (path) => writeFile(path, " ".repeat(5000)), "is no small regular file"],
    ["a loop of links", (path) => rm(path).then(() => symlink(path, path)), "cannot be read (ELOOP)"],
    ["writable by others", (path) => chmod(path, 0o666), "can be written by every user"],
    ["in a folder of everybody", (path) => chmod(dirname(path), 0o1777), "can be written by every user"],
  ])("%s → holds nothing, and is named", async (_what, spoil, why) => {
    const { path, hold, read } = await place();
    await hold();
    await spoil(path);
    expect(await read()).toMatchObject({
      kind: "ignored",
      finding: { id: "hold_ignored", severity: "warning", file: path, message: expect.stringContaining(why) },
    });
  });
});

test("hold -- COMMAND without --for → held for as long as it runs, and 30 minutes longer after kill -9", async () => {
  const folder = await temporaryFolder();
  const clock = new HeldClock();
  const path = join(folder, "hold.json");
  const done = join(folder, "done");
  const words = ["hold", "--runtime-dir", folder, "--", "sh", "-c", `until [ -e '${done}' ]; do sleep 0.02; done`];
  const running = runInProcess("hold", (own) => runAgentProgram(words, own, clock));
  const forMs = async () => Number(/"for_ms":(\d+)/.exec(await readFile(path, "utf8").catch(() => ""))?.[1] ?? 0);
  try {
    await expect.poll(forMs).toBe(HOUR_MS / 2);
    for (const quarter of [1, 2, 3]) {
      await expect.poll(() => clock.sleepers).toBe(1);
      clock.step(HOUR_MS / 4);
      await expect.poll(forMs).toBe(HOUR_MS / 2 + (quarter * HOUR_MS) / 4);
    }
  } finally {
    await writeFile(done, "");
  }
  expect((await running).exitCode).toBe(0);
  expect(existsSync(path)).toBe(false);
});

describe("a robot that is held", () => {
  async function heldRobot() {
    const robot = await runningRobot();
    await robot.until(() => robot.agent.status().state === "registered");
    const sinceMs = robot.clock.monotonicMs();
    await writeHold(systemFiles, robot.holdPath, {
      heldBy: "ana",
      reason: "both arms",
      sinceMs,
      untilMs: sinceMs + 60_000,
    });
    return robot;
  }

  /** The file is written twice, 20 s apart, as the arms of a robot are calibrated. */
  async function calibrate({ agent, clock, write, until }: RunningRobot, state: string) {
    for (const content of ["left\n", "left and right\n"]) {
      await write(content);
      agent.trigger();
      await until(() => agent.status().state === state);
      clock.step(20_000);
      await until(() => agent.status().hanging === null);
    }
  }

  test("calibrated, then released → one registration, and status says meanwhile who holds it", async () => {
    const robot = await heldRobot();
    const { agent, holdPath, until, digests } = robot;
    await calibrate(robot, "held");
    await until(() => agent.status().state === "held");
    expect(digests()).toHaveLength(1);
    expect(agent.status()).toMatchObject({ healthy: false, hold: { held_by: "ana", reason: "both arms" } });
    expect(agent.status().summary).toMatch(/^Held by ana \(both arms\): nothing is registered until /);
    expect(agent.status().changes?.files).toMatchObject([{ kind: "changed" }]);
    await rm(holdPath);
    agent.trigger();
    await until(() => agent.status().state === "registered");
    expect(digests()).toHaveLength(2);
    expect(agent.status()).toMatchObject({ hold: null, registered_changes: { files: [{ kind: "changed" }] } });
  });

  test("never released → one registration once its time is over", async () => {
    const robot = await heldRobot();
    await calibrate(robot, "held");
    robot.clock.step(20_000);
    await robot.until(() => robot.agent.status().state === "registered");
    expect(robot.digests()).toHaveLength(2);
  });

  test("a person asks to register → not while it is held", async () => {
    const robot = await heldRobot();
    let isAnswered = false;
    const registering = robot.agent.register().finally(() => (isAnswered = true));
    await robot.until(() => isAnswered);
    expect(await registering).toMatchObject({ state: "held" });
    expect(robot.digests()).toHaveLength(1);
  });

  test("an ignored hold → registered, with a warning", async () => {
    const robot = await heldRobot();
    await writeFile(robot.holdPath, "{}");
    await robot.write("second\n");
    robot.agent.trigger();
    await robot.until(() => robot.digests().length === 2);
    expect(robot.agent.status().findings).toMatchObject([{ id: "hold_ignored" }]);
  });
});
