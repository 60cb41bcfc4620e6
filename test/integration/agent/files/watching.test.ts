/** Changes without events: exhausted inotify limits, filesystems without events, writes that inotify does not report. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs";
import { mkdir, rm, unlink, writeFile } from "node:fs/promises";
import { promisify } from "node:util";

import { describe, expect } from "vitest";

import { endWithTest } from "../../../support/programs/children.ts";
import {
  canLimitInotify,
  canMount,
  hasProgram,
  inShell,
  withOwnLimits,
  withOwnMounts,
} from "../../../support/programs/programs.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import { digestOfFiles } from "../../../support/robot/digest.ts";
import { eventually, manifestOf, replaceIn, writeAtOnce } from "../../../support/robot/robot.ts";
import { times } from "../../../support/run/tier.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene, expectOneRobot } from "../../../support/service/scene.ts";

const run = promisify(execFile);
/** The default of `resync_s`. */
const RESYNC_MS = 60_000;

describe(
  "scenario 25 (needs a user namespace): inotify limits exhausted:",
  { concurrent: true, tags: "needs/root", skip: !canLimitInotify },
  () => {
    const limits: readonly [string, string, RegExp][] = [
      ["no watch left (ENOSPC)", "max_inotify_watches", /fs\.inotify\.max_user_watches/],
      ["no instance left (EMFILE)", "max_inotify_instances", /fs\.inotify\.max_user_instances/],
    ];

    test.for(limits)("%s → polls and says so; returns to events when the limit allows", async ([, limit, remedy]) => {
      await using scene = await createScene({ watch: "{settle_ms: 150, resync_s: 3600, poll_s: 1}" });
      const { proxy, robot } = scene;
      const file = `/proc/sys/user/${limit}`;
      await using daemon = await robot.startProcess({}, inShell(withOwnLimits, `echo 0 >${file}`));
      await expectOneRobot(scene, daemon);
      const { watching } = await daemon.until((status) => status.watching?.mode === "polling");
      expect(watching?.reason).toMatch(remedy);
      expect(await daemon.ask("GET", "/metrics")).toContain("robot_policy_agent_polling 1");
      expect((await robot.run(["status"])).stdout).toMatch(remedy);

      await replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 2");
      await expectOneRobot(scene, daemon);
      expect(proxy.requests).toHaveLength(2);
      expect(await daemon.untilLogged("watching-by-polling")).toHaveLength(1);

      const inside = ["--user", "--preserve-credentials", `--target=${daemon.process_id}`];
      await run("nsenter", [...inside, "sh", "-ec", `echo 1000 >${file}`]);
      await daemon.until((status) => status.watching?.mode === "events");
      // The next poll or resync is an hour away: only an event reveals this change.
      await replaceIn(robot.path("left.yaml"), "offset: 2", "offset: 3");
      await expectOneRobot(scene, daemon);
      expect(proxy.requests).toHaveLength(3);
      expect(await daemon.untilLogged("watching-by-events")).toHaveLength(1);
    });

    test("a folder added later that cannot be watched → polls, and finds changes", async () => {
      await using scene = await createScene({ watch: "{settle_ms: 150, resync_s: 3600, poll_s: 1}" });
      const { robot } = scene;
      await using daemon = await robot.startProcess(
        {},
        inShell(withOwnLimits, "echo 2 >/proc/sys/user/max_inotify_watches"),
      );
      await expectOneRobot(scene, daemon);
      expect((await daemon.status()).watching?.mode).toBe("events");
      await mkdir(robot.path("later"));
      await writeAtOnce(robot.path("later/right.json"), "{}");
      await writeAtOnce(robot.manifestPath, manifestOf([robot.path("left.yaml"), robot.path("later/right.json")]));
      await daemon.until((status) => status.watching?.mode === "polling");
      await writeAtOnce(robot.path("later/right.json"), '{"later": true}');
      const withBothFiles = {
        ...robot,
        digest: () => digestOfFiles(robot.path("left.yaml"), robot.path("later/right.json")),
      };
      await expectOneRobot({ ...scene, robot: withBothFiles }, daemon);
    });
  },
);

test(
  "scenario 26: a filesystem without events (FUSE; needs root and unshare(1)) → polling finds changes, and only real ones are sent",
  { concurrent: true, tags: "needs/root", skip: !canMount },
  async () => {
    await using scene = await createScene({
      files: { "shared/arm.yaml": "gain: 1\n", "shared/base.json": "{}" },
      watch: "{settle_ms: 150, resync_s: 3600, poll_s: 1}",
    });
    const { proxy, robot } = scene;
    await mkdir(robot.path("mounted"));
    await writeAtOnce(robot.manifestPath, manifestOf(robot.paths.map((path) => path.replace("/shared/", "/mounted/"))));
    await using filesystem = await mountSilently(robot.path("shared"), robot.path("mounted"));
    await using daemon = await robot.startProcess({}, ["nsenter", "--mount", `--target=${filesystem.process_id}`]);
    const { watching } = await expectOneRobot(scene, daemon);
    expect(watching).toMatchObject({ mode: "polling", reason: expect.stringContaining("reports no changes") });

    await writeAtOnce(robot.path("shared/arm.yaml"), "gain: 2\n");
    const { daemon: before } = await expectOneRobot(scene, daemon);
    await writeAtOnce(robot.path("shared/arm.yaml"), "gain: 2\n");
    await daemon.until(({ daemon: counts }) => (counts?.runs ?? 0) > (before?.runs ?? 0));
    await daemon.lookAgain();
    expect(proxy.requests).toHaveLength(2);
    await writeAtOnce(robot.path("shared/base.json"), '{"x": 1}');
    await expectOneRobot(scene, daemon);
    expect(proxy.requests).toHaveLength(3);
  },
);

test(
  "scenario 26: a write through mmap(2), which inotify(7) does not report (needs python3) → the resync finds it",
  { concurrent: true, tags: "needs/program", skip: !hasProgram("python3") },
  async ({ scene, proxy, robot }) => {
    const clock = new PushedClock();
    await using daemon = await robot.start({}, clock);
    const { configuration_digest: before } = await expectOneRobot(scene, daemon);
    using stack = new DisposableStack();
    const reported = new Set<string | null>();
    stack.adopt(
      watch(robot.folder, (_event, name) => reported.add(name)),
      (watcher) => watcher.close(),
    );
    const script =
      "import mmap, sys; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); m[8:9] = b'9'; m.flush()";
    await run("python3", ["-c", script, robot.path("left.yaml")]);
    // inotify(7) reports events in the order in which they occur.
    await writeAtOnce(robot.path("neighbour"), "");
    await eventually(async () => reported.has("neighbour") || undefined, "the event of the later write");
    expect([...reported]).toEqual(["neighbour"]);
    // Pushed only once: a second push during the request would make it time out and be repeated.
    clock.push(RESYNC_MS);
    await daemon.until(({ configuration_digest: configurationDigest }) => configurationDigest !== before);
    await expectOneRobot(scene, daemon);
    expect(proxy.requests).toHaveLength(2);
  },
);

test.skipIf(!canMount)(
  "a file that is mounted by itself, as into a container → polling finds an edit of it",
  { tags: "needs/root" },
  async () => {
    await using scene = await createScene({ watch: "{settle_ms: 150, resync_s: 3600, poll_s: 1}" });
    const { robot } = scene;
    const [from, to] = [robot.path("outside.yaml"), robot.path("left.yaml")];
    await writeFile(from, "offset: 1\n");
    await using daemon = await robot.startProcess({}, inShell(withOwnMounts, `mount --bind ${from} ${to}`));
    await daemon.until(({ state, watching }) => state === "registered" && watching?.mode === "polling");
    await writeFile(from, "offset: 2\n");
    const digest = await digestOfFiles(from, ...robot.paths.slice(1));
    await daemon.until(({ registration }) => registration?.configuration_digest === digest);
  },
);

test.concurrent("a folder removed and created again, often with the same inode → later changes in it are found", async () => {
  await using scene = await createScene({
    files: { "first.yaml": "a: 1\n", "calibration/arm.yaml": "gain: 1\n" },
    watch: "{settle_ms: 60, resync_s: 3600}",
  });
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  let runs = (await expectOneRobot(scene, daemon)).daemon?.runs ?? 0;
  for (let round = 0; round < times(2, 25); round += 1) {
    await rm(robot.path("calibration"), { recursive: true, force: true });
    await mkdir(robot.path("calibration"));
    await writeAtOnce(robot.path("calibration/arm.yaml"), "gain: 1\n");
    await daemon.until(({ state, daemon: counts }) => state === "registered" && (counts?.runs ?? 0) > runs);
    await unlink(robot.path("calibration/arm.yaml"));
    runs = (await daemon.until(({ state }) => state === "invalid")).daemon?.runs ?? 0;
  }
  await mkdir(robot.path("calibration"), { recursive: true });
  await writeAtOnce(robot.path("calibration/arm.yaml"), "gain: 2\n");
  await expectOneRobot(scene, daemon);
  expect(proxy.requests).toHaveLength(2);
});

interface SilentFilesystem extends AsyncDisposable {
  /** The process whose mount namespace has the filesystem. */
  readonly process_id: number;
}

async function mountSilently(folder: string, mountPoint: string): Promise<SilentFilesystem> {
  const program = new URL("../../../support/robot/silent-filesystem.ts", import.meta.url);
  const [unshare, ...prefix] = withOwnMounts;
  const child: ChildProcess = spawn(unshare, [...prefix, process.execPath, program.pathname, folder, mountPoint], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endWithTest(child);
  const ended = once(child, "exit");
  if (child.stdout !== null) await Promise.race([once(child.stdout, "data"), ended]);
  return {
    process_id: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
