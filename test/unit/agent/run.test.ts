import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { awaitConfiguration } from "../../../src/agent/commands/run.ts";
import { openConfiguration } from "../../../src/agent/configuration/open.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";
import { createRobot, HeldClock } from "./robot-in-process.ts";

test("awaitConfiguration: invalid for a minute → looks again each 2 s, and feeds the watchdog each half of its timeout", async () => {
  const clock = new HeldClock();
  const { machine: robot, folder } = await createRobot(clock);
  const pings: number[] = [];
  const notify = { ...robot.notify, watchdog: () => void pings.push(clock.monotonicMs()), watchdogMs: 60_000 };
  const machine = { ...robot, notify };
  const path = join(folder, "config.yaml");
  await writeFile(path, "robot: {}\n");
  const quiet = { write() {} };
  const ending = new AbortController();
  let looks = 0;
  const configuration = openConfiguration(machine, path);
  const refresh = (settle: boolean) => {
    looks += 1;
    return configuration.refresh(settle);
  };
  const waiting = awaitConfiguration(Object.create(configuration, { refresh: { value: refresh } }), {
    machine,
    signal: ending.signal,
    environment: { NOTIFY_SOCKET: "/run/systemd/notify" },
    terminal: createTerminal({ stdout: quiet, stderr: quiet, environment: {} }),
  });
  // The pause before the next look, and that before the next ping.
  for (let look = 1; look < 30; look += 1) {
    await expect.poll(() => [looks, clock.sleepers], { interval: 1 }).toEqual([look, 2]);
    clock.step(2000);
  }
  ending.abort();
  expect(await waiting).toBeNull();
  expect(pings).toEqual([0, 30_000]);
  expect(clock.sleepers).toBe(0);
});
