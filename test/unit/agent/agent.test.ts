import { mkdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { systemFiles } from "../../../src/platform/files/files.ts";
import { openAgent, type RunningRobot, runningRobot } from "./robot-in-process.ts";

/** Only the wait for the next check. */
function isAtRest({ clock, pending }: RunningRobot): boolean {
  return clock.sleepers === 1 && pending.hanging(0) === null;
}

/** For this long after a change its file is read again with each look. */
const RECENT_MS = 2000;

/** Lets a robot register, and read its files once more. */
async function settle(robot: RunningRobot): Promise<void> {
  const { agent, clock, until } = robot;
  await until(() => agent.status().state === "registered" && isAtRest(robot));
  const restingMs = clock.monotonicMs();
  clock.step(RECENT_MS);
  await until(() => clock.monotonicMs() > restingMs + RECENT_MS + 50 && isAtRest(robot));
}

/** A registered robot without pending changes. */
async function registeredRobot() {
  const robot = await runningRobot();
  await settle(robot);
  return robot;
}

describe("a request by a person while files are being written", () => {
  test("register: files settle unchanged → still registers", async () => {
    const { agent, write, until, requests } = await registeredRobot();
    await write("first\n");
    let isAnswered = false;
    const registering = agent.register().finally(() => (isAnswered = true));
    await until(() => agent.status().state === "settling");
    expect(isAnswered).toBe(false);
    await until(() => isAnswered);
    expect(await registering).toMatchObject({ state: "registered" });
    expect(requests.map(({ method }) => method)).toEqual(["POST", "POST"]);
  });

  test("confirm: files settle unchanged → still asks the service", async () => {
    const { agent, write, until, requests } = await registeredRobot();
    await write("first\n");
    let isAnswered = false;
    const confirming = agent.confirm().finally(() => (isAnswered = true));
    await until(() => agent.status().state === "settling");
    expect(isAnswered).toBe(false);
    await until(() => isAnswered);
    expect(await confirming).toMatchObject({ state: "registered" });
    // The service of these tests holds no registration.
    expect(requests.map(({ method }) => method)).toEqual(["POST", "GET", "POST"]);
  });

  test("reload: answered once the files have been read", async () => {
    const { agent, write, until, digests } = await registeredRobot();
    await write("second\n");
    const reloading = agent.reload();
    await until(() => digests().length === 2);
    expect(await reloading).toMatchObject({ reloaded: true });
  });

  test("rebind during an outage: registration moved away → sent at once; still there → not before the backoff", async () => {
    const { agent, answer, write, until, requests, clock, stateDirectory } = await registeredRobot();
    answer("reset");
    await write("second\n");
    const attempts = 8;
    await until(() => requests.length === attempts && agent.status().failure !== null);
    const beganMs = clock.monotonicMs();
    expect(await agent.rebind()).toBeNull();
    expect(requests.length).toBe(attempts);
    await rm(join(stateDirectory, "registration.json"));
    expect(await agent.rebind()).not.toBeNull();
    expect([requests.length, clock.monotonicMs() - beganMs]).toEqual([attempts + 1, 0]);
  });

  test("rebind on a full disk during an outage → nothing is left to be saved", async () => {
    const { agent, answer, disk, until, write, stateDirectory } = await registeredRobot();
    disk.createExclusive = async () => {
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    };
    answer("reset");
    await write("second\n");
    await until(() => agent.status().state_problem !== null);
    await rm(join(stateDirectory, "registration.json"));
    expect(await agent.rebind()).toMatchObject({ registration: null, state_problem: null });
  });

  test("register: requested once → one registration", async () => {
    const robot = await registeredRobot();
    const { agent, write, until, requests, clock } = robot;
    const registering = agent.register();
    await until(() => requests.length === 2);
    await registering;
    await write("second\n");
    await until(() => requests.length === 3);
    for (let times = 0; times < 3; times++) {
      await until(() => isAtRest(robot));
      clock.step(60_000);
    }
    await until(() => isAtRest(robot));
    expect(requests.length).toBe(3);
    expect(agent.status().daemon).toMatchObject({ attempts: 3, registrations: 3 });
  });
});

test("attempts during an outage, which may each take long → the first registers, the others leave the status as it is", async () => {
  const robot = await registeredRobot();
  const { agent, answer, write, until } = robot;
  const told: string[] = [];
  robot.onRequest = async () => void told.push(agent.status().state);
  answer("reset");
  await write("second\n");
  await until(() => told.length === 3);
  expect(told).toEqual(["registering", "unreachable", "unreachable"]);
});

/** The default configuration. */
const RESYNC_MS = 60_000;
const POLL_MS = 5000;

describe("a file event", () => {
  /** Time until this many registrations were sent. */
  async function msUntilSent({ clock, until, digests }: RunningRobot, count: number): Promise<number> {
    const beganMs = clock.monotonicMs();
    await until(() => digests().length === count);
    return clock.monotonicMs() - beganMs;
  }

  test("idle → one check at once", async () => {
    const robot = await registeredRobot();
    await robot.write("second\n");
    robot.reportEvent();
    expect(await msUntilSent(robot, 2)).toBeLessThan(RESYNC_MS / 2);
  });

  test("during a request → one more check right after it", async () => {
    const robot = await registeredRobot();
    robot.onRequest = async () => {
      robot.onRequest = async () => {};
      await robot.write("third\n");
      robot.reportEvent();
    };
    await robot.write("second\n");
    robot.reportEvent();
    expect(await msUntilSent(robot, 3)).toBeLessThan(RESYNC_MS / 2);
  });

  test("one of a thousand while a file is written → no additional check", async () => {
    const robot = await registeredRobot();
    const { agent, write, until, reportEvent } = robot;
    const runs = () => agent.status().daemon?.runs ?? 0;
    await write("second\n");
    reportEvent();
    await until(() => agent.status().state === "settling");
    const settling = runs();
    for (let events = 0; events < 1000; events++) {
      reportEvent();
      await new Promise(setImmediate);
    }
    expect(runs()).toBe(settling);
    expect(await msUntilSent(robot, 2)).toBeLessThan(RESYNC_MS / 2);
  });
});

describe("a minute without a file event", () => {
  async function letMinutePass(robot: RunningRobot): Promise<void> {
    await robot.until(() => isAtRest(robot));
    robot.clock.step(RESYNC_MS);
  }

  test("change without an event → found by the check", async () => {
    const robot = await registeredRobot();
    const { clock } = robot;
    const restingMs = clock.monotonicMs();
    await robot.write("second\n");
    clock.step(59_000);
    await robot.until(() => robot.digests().length === 2);
    expect(clock.monotonicMs() - restingMs).toBeGreaterThan(59_900);
  });

  test("nothing changed → the check starts no run", async () => {
    const robot = await registeredRobot();
    const { daemon } = robot.agent.status();
    await letMinutePass(robot);
    await letMinutePass(robot);
    await robot.until(() => isAtRest(robot));
    expect(robot.agent.status().daemon?.runs).toBe(daemon?.runs);
  });

  test("state not saved because the disk was full → saved", async () => {
    const robot = await runningRobot();
    robot.disk.createExclusive = async () => {
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    };
    await robot.until(() => robot.agent.status().state === "registered");
    expect(robot.agent.status().state_problem).toMatch(/cannot be written \(ENOSPC\)$/);
    await letMinutePass(robot);
    await robot.until(() => isAtRest(robot));
    expect(robot.agent.status().state_problem).not.toBeNull();

    robot.disk.createExclusive = systemFiles.createExclusive;
    await letMinutePass(robot);
    await robot.until(() => robot.agent.status().state_problem === null);
    expect(robot.requests.length).toBe(1);
  });
});

test("events more often than polls → a folder that could not be watched is tried again", async () => {
  const robot = await openAgent();
  const { agent, clock, machine, pending } = robot;
  let code: string | null = "ENOSPC";
  machine.events.watch = (_directory, listener) => {
    setImmediate(() => (code === null ? listener.onReady() : listener.onFailure(code)));
    return { close() {} };
  };
  await agent.prepare();
  const ended = agent.run();
  onTestFinished(() => {
    agent.stop();
    return ended;
  });
  const runs = () => agent.status().daemon?.runs ?? 0;
  const triggerRun = async () => {
    const before = runs();
    agent.trigger();
    await expect.poll(() => runs() > before && pending.hanging(0) === null).toBe(true);
  };
  await triggerRun();
  await expect.poll(() => agent.status().watching?.mode).toBe("polling");
  code = null;
  for (let passedMs = 0; passedMs < 3 * POLL_MS; passedMs += POLL_MS / 2) {
    clock.step(POLL_MS / 2);
    await triggerRun();
  }
  await expect.poll(() => agent.status().watching?.mode).toBe("events");
});

test("a file on a network drive → found by the look of every five seconds, and local folders stay watched", async () => {
  const robot = await registeredRobot();
  const { agent, clock, disk, folder, machine, until } = robot;
  const drive = join(folder, "drive");
  await mkdir(drive);
  await writeFile(join(drive, "arm.rules"), "first\n");
  const manifest = await readFile(join(folder, "robot-manifest.yaml"), "utf8");
  await writeFile(join(folder, "robot-manifest.yaml"), manifest.replace(robot.path, join(drive, "arm.rules")));
  disk.mountsNow = () => `1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:9 / ${drive} rw - nfs server:/ rw\n`;
  const opened: string[] = [];
  machine.events.watch = (directory, listener) => {
    opened.push(directory);
    setImmediate(() => listener.onReady());
    return { close() {} };
  };
  clock.step(RESYNC_MS);
  await until(() => agent.status().watching?.mode === "polling");
  await settle(robot);
  const [watches, runs] = [opened.length, agent.status().daemon?.runs];
  for (let polls = 1; polls <= 3; polls++) {
    clock.step(POLL_MS);
    await until(() => isAtRest(robot));
  }
  expect(agent.status().daemon?.runs).toBe(runs);
  await writeFile(join(drive, "arm.rules"), "second\n");
  clock.step(POLL_MS);
  await until(() => robot.digests().length === 2);
  expect(opened.length).toBe(watches);
});

describe("the name of the machine", () => {
  test("another hostname, then the old one again → both found by the check of a minute", async () => {
    const robot = await runningRobot("{hostname}");
    const { agent, clock, machine, until } = robot;
    await until(() => agent.status().state === "registered" && isAtRest(robot));
    const { hostname } = machine.identity;
    machine.identity.hostname = () => "localhost";
    clock.step(RESYNC_MS);
    await until(() => agent.status().state === "other-name" && isAtRest(robot));
    machine.identity.hostname = hostname;
    clock.step(RESYNC_MS);
    await until(() => agent.status().state === "registered");
    expect(robot.requests).toHaveLength(1);
  });

  test("no machine id, then one → registered by the check of a minute", async () => {
    const robot = await runningRobot("cell-{machine_id}", async () => null);
    const { agent, clock, machine, until } = robot;
    await until(() => agent.status().state === "invalid" && isAtRest(robot));
    machine.identity.machine = async () => "ab".repeat(32);
    clock.step(RESYNC_MS);
    await until(() => agent.status().state === "registered");
    expect(agent.status().robot.name).toBe("cell-abababababab");
  });
});

test("configuration edit → applied once settled, dependents are notified", async () => {
  const robot = await registeredRobot();
  const { agent, configuration, configurations, requests, until } = robot;
  const text = await readFile(configuration.path, "utf8");
  await writeFile(configuration.path, text.replace("region: eu-central-1", "region: us-west-2"));
  agent.trigger();
  await until(() => requests.length === 2);
  expect(configurations.map(({ robot: { region } }) => region)).toEqual(["us-west-2"]);
  expect(robot.logged).toContain("configuration-changed");
});

test("log → each registration at notice, and a state that passes and returns without one at info", async () => {
  const robot = await registeredRobot();
  const { agent, logged, path, until, write } = robot;
  const registrations = () => logged.filter((event) => event.endsWith("registered"));
  expect(registrations()).toEqual(["registered", "notice registered"]);
  await rename(path, `${path}.away`);
  agent.trigger();
  await until(() => agent.status().state === "invalid");
  await rename(`${path}.away`, path);
  agent.trigger();
  await until(() => agent.status().state === "registered");
  expect(registrations()).toEqual(["registered", "notice registered", "registered"]);
  await write("changed\n");
  agent.trigger();
  await until(() => registrations().length > 3);
  expect(registrations().slice(3)).toEqual(["registered", "notice registered"]);
});

test.each([
  ["hourly", "a small file", 10, 1],
  ["daily", "a large file", 17 * 1024 * 1024, 24],
])("%s reading: %s with an unchanged stat → read, because a stat can be wrong", async (_when, _what, bytes, hours) => {
  const robot = await runningRobot();
  await truncate(robot.path, bytes);
  await settle(robot);
  const { clock, disk, path, until } = robot;
  let readings = 0;
  disk.openForReading = (opened) => {
    if (opened === path) readings += 1;
    return systemFiles.openForReading(opened);
  };
  const HOUR_MS = 3_600_000;
  // The random source always returns its maximum, so the period is longer by a tenth.
  for (let passed = 0; passed < hours; passed += 1) {
    clock.step(HOUR_MS);
    await until(() => isAtRest(robot));
  }
  clock.step((hours - 1) * 0.1 * HOUR_MS);
  await until(() => isAtRest(robot));
  expect(readings).toBe(0);
  clock.step(2 * HOUR_MS);
  await until(() => readings === 1);
});

test("name template → the first status has the robot's name", async () => {
  const { agent } = await openAgent("{hostname}-{machine_id}");
  await agent.prepare();
  expect(agent.status()).toMatchObject({ state: "starting", robot: { name: "cell-abababababab" } });
});

describe("timers", () => {
  test("run ended → only the timer of the next check remains", async () => {
    const robot = await registeredRobot();
    const { agent, until } = robot;
    for (let times = 0; times < 3; times++) {
      agent.trigger();
      const { daemon } = agent.status();
      await until(() => (agent.status().daemon?.runs ?? 0) > (daemon?.runs ?? 0));
      await until(() => isAtRest(robot));
    }
  });

  test("preparation ended → its timers are cleared", async () => {
    const { agent, clock } = await openAgent();
    await agent.prepare();
    expect(clock.sleepers).toBe(0);
  });

  test("preparation: hanging disk → delays a boot by two seconds", async () => {
    const { agent, clock, disk } = await openAgent();
    disk.linkStat = () => new Promise(() => {});
    let isPrepared = false;
    const preparing = agent.prepare().then(() => (isPrepared = true));
    while (clock.sleepers === 0) await new Promise(setImmediate);
    clock.step(1999);
    await new Promise(setImmediate);
    expect(isPrepared).toBe(false);
    clock.step(1);
    await preparing;
  });

  test("agent stopped → no timer remains", async () => {
    const { agent, clock, ended } = await registeredRobot();
    agent.stop();
    await ended;
    expect(clock.sleepers).toBe(0);
  });
});

describe("a hanging disk", () => {
  /** A disk that hangs on opening the configuration file until the test releases it. */
  async function hangingRobot() {
    const robot = await registeredRobot();
    const answering = Promise.withResolvers<void>();
    const requested = Promise.withResolvers<void>();
    robot.disk.stat = async (path) => {
      if (path === robot.path) {
        requested.resolve();
        await answering.promise;
      }
      return systemFiles.stat(path);
    };
    robot.agent.trigger();
    await requested.promise;
    return { ...robot, answer: answering.resolve };
  }

  test("reported once after five seconds, and again when the disk recovers", async () => {
    const { agent, clock, logged, until, answer, path, pending } = await hangingRobot();
    await expect.poll(() => pending.hanging(0)).toBe(path);
    clock.step(4999);
    expect(agent.status().healthy).toBe(true);
    clock.step(1);
    expect(agent.status()).toMatchObject({ healthy: false, summary: expect.stringContaining(path) });
    for (let times = 0; times < 3; times++) {
      clock.step(5000);
      await new Promise(setImmediate);
    }
    expect(logged.filter((event) => event === "disk-hangs")).toEqual(["disk-hangs"]);
    answer();
    await until(() => logged.includes("disk-answers-again"));
    expect(agent.status().healthy).toBe(true);
  });

  test("before the first run → reported too", async () => {
    const { agent, clock, disk, logged, configuration } = await openAgent();
    const answering = Promise.withResolvers<void>();
    disk.stat = async (path) => {
      if (path !== configuration.path) await answering.promise;
      return systemFiles.stat(path);
    };
    const prepared = agent.prepare();
    while (clock.sleepers === 0) await new Promise(setImmediate);
    clock.step(2000);
    await prepared;
    const ended = agent.run();
    await new Promise(setImmediate);
    clock.step(5000);
    await expect.poll(() => logged).toContain("disk-hangs");
    answering.resolve();
    await expect.poll(() => logged).toContain("disk-answers-again");
    agent.stop();
    await ended;
  });

  test("in the check of a minute → reported, and again when the disk recovers, without a run", async () => {
    const { agent, clock, disk, logged, stateDirectory } = await registeredRobot();
    const { daemon } = agent.status();
    const answering = Promise.withResolvers<void>();
    disk.linkStat = async (path) => {
      if (path.startsWith(stateDirectory)) await answering.promise;
      return systemFiles.linkStat(path);
    };
    clock.step(RESYNC_MS);
    await expect.poll(() => clock.sleepers).toBe(1);
    clock.step(5000);
    await expect.poll(() => logged).toContain("disk-hangs");
    answering.resolve();
    await expect.poll(() => logged).toContain("disk-answers-again");
    expect(agent.status().daemon?.runs).toBe(daemon?.runs);
  });

  test("the agent stops → a request of a person has no answer, because nothing was read", async () => {
    const { agent, clock, ended } = await hangingRobot();
    const answered: string[] = [];
    void agent.reload().then(() => answered.push("reload"));
    void agent.confirm().then(() => answered.push("confirm"));
    agent.stop();
    await new Promise(setImmediate);
    clock.step(2000);
    await ended;
    await new Promise(setImmediate);
    expect(answered).toEqual([]);
  });

  test("delays a stop by at most two seconds", async () => {
    const { agent, clock, ended } = await hangingRobot();
    let hasEnded = false;
    void ended.then(() => (hasEnded = true));
    agent.stop();
    await new Promise(setImmediate);
    clock.step(1999);
    await new Promise(setImmediate);
    expect(hasEnded).toBe(false);
    clock.step(1);
    await ended;
  });

  test("answers during the stop → the stop completes at once", async () => {
    const { agent, clock, ended, answer } = await hangingRobot();
    agent.stop();
    answer();
    await ended;
    expect(clock.sleepers).toBe(0);
  });
});
