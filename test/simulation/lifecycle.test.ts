import { describe, expect, it } from "vitest";

import { times } from "../support/run/tier.ts";
import { checkSilence } from "./claims/convergence.ts";
import { WAYS } from "./editors.ts";
import {
  ALL_FILES,
  BUNDLE,
  FILES,
  FILE_LISTS,
  PLACES,
  TABLES,
  bytesOf,
  contentOf,
  manifestText,
} from "./machine/robot-files.ts";
import type { WriteOperation } from "./machine/simulated-files.ts";
import { createRobot, settledRobot, simulateRobot } from "./robot.ts";
import { simulatedHours, simulatedMinutes } from "./units.ts";

/** The disk operations of registering a change. */
const SAVE_OPERATIONS = await saveOperations();

async function saveOperations(): Promise<readonly WriteOperation[]> {
  const robot = await simulateRobot(34);
  await robot.settle();
  const operations: WriteOperation[] = [];
  robot.world.watchedBy({ onWrite: (_incarnation, operation) => operations.push(operation) });
  robot.edit(2);
  await robot.world.runFor(simulatedMinutes(1));
  return operations;
}

describe("a running agent and its files", () => {
  it.each(WAYS.filter((way) => way !== "touch" && way !== "same content again"))(
    "scenario 21: a change %s → sent once",
    async (way) => {
      const robot = await createRobot(21);
      const { world, editors } = robot;
      for (const path of ALL_FILES) {
        await robot.settle();
        const posts = world.counts.posts;
        const held = robot.held();
        editors.write(path, contentOf(path, 4), way, 100);
        await world.runFor(simulatedMinutes(2));
        expect(world.counts.posts).toBe(posts + 1);
        expect(robot.held()).not.toBe(held);
      }
    },
  );

  it.each(["touch", "same content again"] as const)("scenario 22: %s → nothing is sent", async (way) => {
    const robot = await settledRobot(22);
    const { world, editors } = robot;
    const before = { ...world.counts };
    for (const path of ALL_FILES) {
      editors.write(path, "", way, 0);
      await world.runFor(simulatedMinutes(1));
    }
    expect(world.counts.posts).toBe(before.posts);
    expect(world.counts.writes).toBe(before.writes);
  });

  it("scenario 23: a file written during every read → never sent as a mix", async () => {
    const robot = await settledRobot(23);
    const { world, editors } = robot;
    let edits = 0;
    world.onOpen = (path) => {
      if (path !== FILES.limits || edits >= 200) return;
      edits += 1;
      world.scheduler.after(world.dice.between(0, 2), null, "a write during the read", () => {
        editors.write(path, contentOf(path, edits % 5), world.dice.pick(["over itself in two pieces", "by rename"]), 1);
      });
    };
    robot.edit(2);
    await world.runFor(simulatedMinutes(30));
    expect(edits).toBeGreaterThan(20);
  });

  it.each([1000, 2000])(
    "scenario 23: timestamps with a resolution of %i ms → waits until the file is unchanged",
    async (granularityMs) => {
      const robot = await settledRobot(24, { granularityMs });
      const { world, editors } = robot;
      for (let round = 0; round < 20; round += 1) {
        editors.write(FILES.offsets, contentOf(FILES.offsets, 2 + (round % 3)), "in place in three pieces", 400);
        await world.runFor(20_070);
      }
    },
  );

  it("scenario 24: replacement with an older mtime → sent", async () => {
    const robot = await settledRobot(24);
    const held = robot.held();
    robot.editors.write(FILES.offsets, contentOf(FILES.offsets, 3), "by rename with an older time", 0);
    await robot.world.runFor(2000);
    expect(robot.held()).not.toBe(held);
  });

  it("scenario 25: no inotify watches → polls, reports it, recovers", async () => {
    const robot = await createRobot(25);
    const { world } = robot;
    world.event_trouble.failureRate = 1;
    await robot.settle();
    expect(robot.status().watching?.mode).toBe("polling");
    expect(robot.status().watching?.reason).toMatch(/inotify/);
    const held = robot.held();
    robot.edit(2);
    await world.runFor(5000 + 1000);
    expect(robot.held()).not.toBe(held);
    world.event_trouble.failureRate = 0;
    await world.runFor(simulatedMinutes(3));
    expect(robot.status().watching?.mode).toBe("events");
  });

  it.each<readonly [string, Parameters<typeof createRobot>[1], number, number]>([
    ["a filesystem without events", { silentFolders: [TABLES] }, 0, 6000],
    ["events that are all lost", {}, 1, 62_000],
  ])("scenario 26: on %s a change is found by looking", async (_name, options, lossRate, limitMs) => {
    const robot = await settledRobot(26, options);
    const { world } = robot;
    world.event_trouble.lossRate = lossRate;
    const held = robot.held();
    robot.edit(2, FILES.offsets);
    expect(await world.runUntil(() => robot.held() !== held, limitMs)).toBe(true);
  });

  it.each(["missing", "unreadable", "directory", "other", "loop"] as const)(
    "scenario 27: a file that is %s → named finding, the last registration stays",
    async (kind) => {
      const robot = await settledRobot(27);
      const { world } = robot;
      const before = { held: robot.held(), posts: world.counts.posts };
      const path = FILES.limits;
      if (kind === "unreadable") world.disk.setMode(path, 0o600);
      else world.disk.remove(path);
      if (kind === "directory" || kind === "other") world.disk.create(path, kind);
      if (kind === "loop") world.disk.create(path, "link", { target: "limits.yaml" });
      world.disturb(`${path} is ${kind}`);
      expect(await robot.reach("invalid")).toBe(true);
      await world.runFor(simulatedMinutes(10));
      expect(robot.status().findings.map(({ severity, message }) => [severity, message.includes(path)])).toEqual([
        ["error", true],
      ]);
      expect({ held: robot.held(), posts: world.counts.posts }).toEqual(before);
      if (kind === "unreadable") world.disk.setMode(path, 0o644);
      else if (kind !== "missing") world.disk.remove(path);
      world.disturb(`${path} is mended`);
      robot.edit(3);
      expect(await robot.reach("registered", 3000)).toBe(true);
    },
  );

  it("scenario 23: a flapping file next to a missing one → still gets its settle time afterwards", async () => {
    const robot = await settledRobot(86);
    const { world } = robot;
    world.disk.remove(FILES.calibration);
    for (let round = 0; round < 40; round += 1) {
      robot.edit(1 + (round % 5));
      await world.runFor(300);
    }
    robot.editors.write(FILES.calibration, contentOf(FILES.calibration, 2), "by rename", 0);
    await world.runFor(20);
    world.disk.remove(FILES.limits);
    await world.runFor(1500);
    robot.edit(5);
    await world.runFor(simulatedMinutes(2));
  });

  describe("a file whose content changes without its stat", () => {
    /** Like swapping a read-only image for one with equal timestamps. */
    async function swapped(kill: boolean) {
      const robot = await settledRobot(29);
      const { world } = robot;
      if (kill) {
        world.supervised = false;
        world.kill();
      }
      const held = robot.held();
      world.disk.writeUnseen(world.disk.look(FILES.limits), bytesOf(contentOf(FILES.limits, 3)));
      world.disturb("limits.yaml is another one");
      return { robot, world, isRegistered: () => robot.held() !== held };
    }

    it("hourly reading → found; no write or request on days without a change", async () => {
      const { world, isRegistered } = await swapped(false);
      expect(await world.runUntil(isRegistered, simulatedMinutes(50))).toBe(false);
      expect(await world.runUntil(isRegistered, simulatedMinutes(20))).toBe(true);
      await checkSilence(world);
      const { posts, writes } = world.counts;
      await world.runFor(simulatedHours(30));
      expect(world.counts).toMatchObject({ posts, writes });
    });

    it("after a start → found; the start itself trusts the last registration", async () => {
      const { robot, world, isRegistered } = await swapped(true);
      world.start();
      expect(await robot.reach("registered", 1000)).toBe(true);
      expect(isRegistered()).toBe(false);
      expect(await world.runUntil(isRegistered, 5000)).toBe(true);
    });

    it("before a registration by another process → read again", async () => {
      const { robot, world, isRegistered } = await swapped(true);
      robot.edit(2, FILES.offsets);
      await world.runFor(simulatedMinutes(1));
      world.start();
      const { posts } = world.counts;
      expect(await world.runUntil(isRegistered, 5000)).toBe(true);
      await checkSilence(world);
      expect(world.counts.posts).toBe(posts + 1);
    });

    it.each(["register", "reload", "trigger"] as const)("requested by a person (%s) → found", async (ask) => {
      const { world, isRegistered } = await swapped(false);
      world.scheduler.after(1, null, "a person's request", () => void world.daemon?.agent?.[ask]());
      expect(await world.runUntil(isRegistered, 5000)).toBe(true);
    });

    it("its folder disappears, as at umount → found", async () => {
      const { world, isRegistered } = await swapped(false);
      world.disk.onChange(world.disk.look("/etc/robot"), null);
      expect(await world.runUntil(isRegistered, 5000)).toBe(true);
    });
  });

  it("scenario 28: a flapping file → rate-capped, its final content is registered", async () => {
    const robot = await settledRobot(28);
    const { world } = robot;
    const posts = world.counts.posts;
    const durationS = times(140, 280);
    for (let version = 1; version <= durationS / 0.7; version += 1) {
      robot.edit(2 + (version % 4));
      await world.runFor(700);
    }
    // Three, and one more every 20 s.
    const most = 3 + durationS / 20;
    expect(world.counts.posts - posts).toBeLessThanOrEqual(most);
    expect(world.counts.posts - posts).toBeGreaterThan(most / 2);
    await checkSilence(world);
  });
});

describe("an agent that ends", () => {
  it("scenario 34: saving a registration → create, write, sync, rename, sync of the folder", () => {
    expect(SAVE_OPERATIONS.slice(-6)).toEqual(["create", "write", "write", "sync", "rename", "sync-directory"]);
  });

  it("scenario 13: copy of a registered image → sends nothing and reports the remedy", async () => {
    const robot = await settledRobot(13);
    const { world } = robot;
    world.powerCut();
    world.machine_id = "c".repeat(64);
    const posts = world.counts.posts;
    expect(await robot.reach("other-machine")).toBe(true);
    robot.edit(2);
    void world.daemon?.agent?.register();
    await world.runFor(simulatedMinutes(60));
    expect(world.counts.posts).toBe(posts);
    expect(robot.status().summary).toMatch(/robot-policy-agent rebind/);
  });

  it.each(SAVE_OPERATIONS.map((operation, index) => [index, operation] as const))(
    "scenario 34: power cut at write %i of a registration (%s) → the old or the new state",
    async (index) => {
      // Which unsynced writes survive is random, as is whether the current write still happens.
      for (let variant = 0; variant < times(4, 12); variant += 1) {
        const robot = await settledRobot(100 * index + variant);
        const { world } = robot;
        const held = robot.held();
        let writes = 0;
        world.watchedBy({
          onWrite() {
            if (writes === index)
              world.scheduler.after(variant % 2 === 0 ? 0 : 0.001, null, "power cut", world.powerCut);
            writes += 1;
          },
        });
        robot.edit(2);
        world.disk.syncAll();
        await world.runFor(simulatedMinutes(3));
        expect(world.counts.power_cuts).toBe(1);
        expect(robot.status().state).toBe("registered");
        expect(robot.held()).not.toBe(held);
        expect(robot.robots()).toBe(1);
        await checkSilence(world);
        world.supervised = false;
        world.kill();
      }
    },
  );

  it("scenario 34: temporary file left by a power cut → replaced", async () => {
    const robot = await createRobot(34);
    const { world } = robot;
    world.disk.create(`${PLACES.registration}.new`, "file");
    await robot.settle();
    expect(world.disk.list(PLACES.state_directory)).toEqual(["registration.json"]);
  });

  it.each(["full", "read-only"] as const)(
    "scenario 35: %s disk → the agent registers, and a restart makes no second robot",
    async (state) => {
      const robot = await createRobot(35);
      const { world } = robot;
      world.disk_trouble.state = state;
      await robot.settle();
      expect(robot.status().state_problem).toMatch(state === "full" ? /ENOSPC/ : /EROFS/);
      world.powerCut();
      expect(await robot.reach("registered")).toBe(true);
      expect(robot.robots()).toBe(1);
      world.disk_trouble.state = "none";
      await world.runFor(simulatedMinutes(3));
      expect(robot.status().state_problem).toBeNull();
      await checkSilence(world);
    },
  );

  it.each(["full", "read-only"] as const)(
    "scenario 35: damaged state on a %s disk → the agent starts",
    async (state) => {
      const robot = await createRobot(35);
      const { world } = robot;
      world.disk.create(PLACES.registration, "file", { bytes: new TextEncoder().encode('{"schema_version":1') });
      world.disk_trouble.state = state;
      world.start();
      expect(await robot.reach("registered")).toBe(true);
      expect(world.counts.starts).toBe(1);
    },
  );

  it("scenario 38: SIGTERM during a request → ends at once, the next start continues", async () => {
    const robot = await createRobot(38);
    const { world } = robot;
    world.network.weather = () => ({ kind: "hangs", arrives: true });
    world.start();
    expect(await robot.reach("registering")).toBe(true);
    await world.runFor(500);
    world.supervised = false;
    world.daemon?.agent?.stop();
    await world.runFor(1);
    expect(await world.runUntil(() => world.daemon === null, 50)).toBe(true);
    world.network.weather = () => ({ kind: "fair" });
    await robot.settle();
    expect(robot.robots()).toBe(1);
    await checkSilence(world);
  });

  it("run: document temporarily unreadable → read again", async () => {
    const robot = await settledRobot(66);
    const { world } = robot;
    world.onOpen = (path) => {
      if (path === PLACES.manifest) world.disk_trouble.ioErrorRate = 1;
    };
    // One operation fails; the next check succeeds.
    world.watchedBy({ onTrouble: () => (world.disk_trouble.ioErrorRate = 0) });
    robot.editors.write(PLACES.manifest, manifestText(FILE_LISTS[1] ?? []), "by rename", 0);
    expect(await robot.reach("invalid")).toBe(true);
    world.onOpen = () => {};
    world.disk_trouble.ioErrorRate = 0;
    expect(await robot.reach("registered", simulatedMinutes(2))).toBe(true);
    await checkSilence(world);
  });

  it("run: links of a bundle switched without an event → follows them", async () => {
    const robot = await settledRobot(67);
    const { world } = robot;
    world.event_trouble.lossRate = 1;
    for (let round = 0; round < 20; round += 1) robot.editors.editFile(FILES.policy);
    await world.runFor(simulatedMinutes(3));
    world.event_trouble.lossRate = 0;
    const held = robot.held();
    expect(world.disk.exists(BUNDLE)).toBe(true);
    for (let round = 0; round < 10 && robot.held() === held; round += 1) {
      robot.editors.editFile(FILES.policy);
      await world.runFor(3000);
    }
    expect(robot.held()).not.toBe(held);
  });
});
