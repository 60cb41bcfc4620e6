/**
 * Scenarios 21 and 22: each way of writing a file causes exactly one request, with the digest of the files on the disk.
 *
 * @module-tag needs/program
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, copyFile, mkdir, open, readFile, rename, rm, symlink, unlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Daemon } from "../../../support/robot/daemon.ts";
import { digestOfFiles } from "../../../support/robot/digest.ts";
import { createRobot, type Robot, SETTLE_MS, setupBodies, writeAtOnce } from "../../../support/robot/robot.ts";
import { type FaultProxy, startFaultProxy } from "../../../support/service/fault-proxy.ts";
import { type RunningService, startService } from "../../../support/service/service.ts";

const run = promisify(execFile);

let service: RunningService;
let proxy: FaultProxy;
let robot: Robot;
let daemon: Daemon;

const git = (...args: string[]) =>
  run("git", ["-C", robot.path("repo"), "-c", "user.name=t", "-c", "user.email=t@t", ...args]);

beforeAll(async () => {
  service = await startService();
  proxy = await startFaultProxy(service.url);
  robot = await createRobot({
    service_url: proxy.url,
    key: service.key,
    watch: `{settle_ms: ${SETTLE_MS}, resync_s: 3600}`,
    files: {
      "plain/calibration.json": '{"offset": 1}\n',
      "repo/tracked.yaml": "gain: 1\n",
      "volume/..first/arm.yaml": "arm: 1\n",
      "swapped/inside.yaml": "inside: 1\n",
    },
  });
  // The manifest lists the outer link of the ConfigMap's file.
  await symlink("..first", robot.path("volume/..data"));
  await symlink("..data/arm.yaml", robot.path("volume/arm.yaml"));
  await writeAtOnce(
    robot.manifestPath,
    (await readFile(robot.manifestPath, "utf8")).replace("..first/arm.yaml", "arm.yaml"),
  );
  await git("init", "--quiet", "--initial-branch=main");
  await git("add", ".");
  await git("commit", "--quiet", "-m", "one");
  await git("checkout", "--quiet", "-b", "other");
  await writeAtOnce(robot.path("repo/tracked.yaml"), "gain: 2\n");
  await git("commit", "--quiet", "-am", "two");
  await git("checkout", "--quiet", "main");
  daemon = await robot.start();
  await daemon.until(({ state }) => state === "registered");
});

afterAll(async () => {
  await daemon?.[Symbol.asyncDispose]();
  await robot?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

/** The digest, with the ConfigMap's file read through its link. */
async function digestNow(): Promise<string> {
  const paths = robot.paths.map((path) => path.replace("..first/arm.yaml", "arm.yaml"));
  return digestOfFiles(...paths);
}

let version = 10;
/** Content that no file had before. */
const fresh = () => JSON.stringify({ offset: (version += 1), padding: "x".repeat(200) });

const changes: readonly [string, (() => Promise<unknown>) | null][] = [
  [
    "vim :w",
    hasProgram("vim")
      ? () =>
          run("vim", [
            "-u",
            "NONE",
            "-es",
            "-c",
            `%s/.*/${fresh().replaceAll(/["/]/g, ".")}/`,
            "-c",
            "wq",
            robot.path("swapped/inside.yaml"),
          ])
      : null,
  ],
  [
    "vim with backup files",
    hasProgram("vim")
      ? () =>
          run("vim", [
            "-u",
            "NONE",
            "-es",
            "-c",
            "set backup writebackup backupcopy=no",
            "-c",
            `%s/.*/a: ${(version += 1)}/`,
            "-c",
            "wq",
            robot.path("swapped/inside.yaml"),
          ])
      : null,
  ],
  ["sed -i", () => run("sed", ["-i", `s/.*/gain: ${(version += 1)}/`, robot.path("swapped/inside.yaml")])],
  [
    "cp",
    async () => {
      await writeAtOnce(robot.path("new.json"), fresh());
      await run("cp", [robot.path("new.json"), robot.path("plain/calibration.json")]);
    },
  ],
  [
    "rsync",
    hasProgram("rsync")
      ? async () => {
          await mkdir(robot.path("source"), { recursive: true });
          await writeAtOnce(robot.path("source/calibration.json"), fresh());
          // rsync skips a file with the same size and the same mtime in seconds.
          await run("rsync", ["-a", "--ignore-times", `${robot.path("source")}/`, `${robot.path("plain")}/`]);
        }
      : null,
  ],
  ["git checkout", () => git("checkout", "--quiet", "other")],
  [
    "Kubernetes ..data swap",
    async () => {
      await mkdir(robot.path("volume/..second"));
      await writeAtOnce(robot.path("volume/..second/arm.yaml"), "arm: 2\n");
      await symlink("..second", robot.path("volume/..data_tmp"));
      await rename(robot.path("volume/..data_tmp"), robot.path("volume/..data"));
    },
  ],
  [
    "in-place JSON writer in three chunks 300 ms apart",
    async () => {
      const text = fresh();
      const file = await open(robot.path("plain/calibration.json"), "w");
      for (const part of [text.slice(0, 60), text.slice(60, 120), text.slice(120)]) {
        await file.write(part);
        await sleep(300);
      }
      await file.close();
    },
  ],
  [
    "delete and recreate",
    async () => {
      await unlink(robot.path("plain/calibration.json"));
      await sleep(50);
      await writeAtOnce(robot.path("plain/calibration.json"), fresh());
    },
  ],
  [
    "temporary file renamed over it",
    async () => {
      await writeAtOnce(robot.path("plain/.calibration.json.tmp"), fresh());
      await rename(robot.path("plain/.calibration.json.tmp"), robot.path("plain/calibration.json"));
    },
  ],
  [
    "the folder replaced",
    async () => {
      await mkdir(robot.path("incoming"));
      await writeAtOnce(robot.path("incoming/inside.yaml"), `inside: ${(version += 1)}\n`);
      await rename(robot.path("swapped"), robot.path("outgoing"));
      await rename(robot.path("incoming"), robot.path("swapped"));
    },
  ],
  [
    "a change in the replaced folder",
    () => writeAtOnce(robot.path("swapped/inside.yaml"), `inside: ${(version += 1)}\n`),
  ],
  [
    "scenario 24: replaced by a file with an older mtime",
    async () => {
      await writeAtOnce(robot.path("old.json"), fresh());
      await utimes(robot.path("old.json"), new Date("2020-01-01"), new Date("2020-01-01"));
      await rename(robot.path("old.json"), robot.path("plain/calibration.json"));
    },
  ],
  ["append", () => appendFile(robot.path("swapped/inside.yaml"), "# recalibrated\n")],
];

const nonChanges: readonly [string, () => Promise<unknown>][] = [
  ["touch", () => run("touch", [robot.path("plain/calibration.json")])],
  [
    "rewrite with the same content",
    async () => writeAtOnce(robot.path("plain/calibration.json"), await readFile(robot.path("plain/calibration.json"))),
  ],
  [
    "replacement with the same content",
    async () => {
      await copyFile(robot.path("plain/calibration.json"), robot.path("copy.json"));
      await rename(robot.path("copy.json"), robot.path("plain/calibration.json"));
    },
  ],
  ["chmod", () => run("chmod", ["600", robot.path("plain/calibration.json")])],
  [
    "another file in the same folder, written often",
    async () => {
      for (let line = 0; line < 50; line += 1) await appendFile(robot.path("plain/neighbour.log"), `${line}\n`);
    },
  ],
  [
    "a folder moved away and back",
    async () => {
      await rename(robot.path("swapped"), robot.path("aside"));
      await rename(robot.path("aside"), robot.path("swapped"));
    },
  ],
];

describe("scenario 21: exactly one re-registration for", () => {
  test.for(changes)("%s", async ([, change], { skip }) => {
    if (change === null) return skip("the program is not installed");
    // Avoids the rate cap, which delays the fourth change in a minute; another test covers it.
    await daemon[Symbol.asyncDispose]();
    daemon = await robot.start();
    await daemon.until(({ state }) => state === "registered");
    const before = setupBodies(proxy.requests).length;
    await change();
    const expected = await digestNow();
    await daemon.until(
      ({ registration, state }) => state === "registered" && registration?.configuration_digest === expected,
    );
    await daemon.lookAgain();
    expect(
      setupBodies(proxy.requests)
        .slice(before)
        .map(({ configuration_digest: configurationDigest }) => configurationDigest),
    ).toEqual([expected]);
    return undefined;
  });
});

describe("scenario 22: no request for", () => {
  test.each(nonChanges)("%s", async (_name, touch) => {
    const before = proxy.requests.length;
    const { runs } = (await daemon.status()).daemon ?? { runs: 0 };
    await touch();
    await daemon.lookAgain();
    const status = await daemon.until(({ state }) => state === "registered");
    expect(proxy.requests.slice(before)).toEqual([]);
    // Nor does the loop run repeatedly.
    expect((status.daemon?.runs ?? 0) - runs).toBeLessThan(20);
  });
});

test("after all changes → the service has one robot", async () => {
  expect((await service.robots()).map(({ name }) => name)).toEqual(["arm-7"]);
  await rm(robot.path("outgoing"), { recursive: true, force: true });
});

function hasProgram(name: string): boolean {
  return (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, name)));
}
