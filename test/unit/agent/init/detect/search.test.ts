/** The search holds out against what lies in homes: it reads nothing that hangs, ends everywhere, and says what it left alone. */
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { detect } from "../../../../../src/agent/init/detect/detect.ts";
import { homesOf } from "../../../../../src/agent/init/detect/detection.ts";
import { Search, type SearchOptions } from "../../../../../src/agent/init/detect/search.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { type Files, systemFiles } from "../../../../../src/platform/files/files.ts";
import { testFolder } from "../../../../support/folder.ts";
import { lerobotCalibration, robotHome } from "../../../../support/robot/homes.ts";

const CALIBRATIONS = ".cache/huggingface/lerobot/calibration/robots/so_follower";
const signal = new AbortController().signal;

async function opened(home: string, options: Partial<SearchOptions> = {}): Promise<Search> {
  return Search.open({ files: systemFiles, clock: systemClock, signal, homes: [home], ...options });
}

async function detected(home: string, options: Partial<SearchOptions> = {}) {
  const common = { files: systemFiles, clock: systemClock, signal, environment: {} };
  return detect({ ...common, homes: [home], root: join(home, "no-root"), ...options });
}

test("detect: FIFOs, sockets and devices, endless links, deep trees, gigabytes and odd names do not hang it", async () => {
  const { home } = robotHome({ [`${CALIBRATIONS}/arm.json`]: lerobotCalibration() });
  const folder = join(home, CALIBRATIONS);
  execFileSync("mkfifo", [join(folder, "fifo.json"), join(home, ".bashrc"), join(home, "my_calibration.yaml")]);
  symlinkSync("/dev/zero", join(folder, "zero.json"));
  symlinkSync("loop.json", join(folder, "loop.json"));
  symlinkSync(home, join(home, "again"));
  writeFileSync(join(folder, "huge.json"), "{");
  truncateSync(join(folder, "huge.json"), 10 * 1024 ** 3);
  writeFileSync(join(folder, "line\nfeed.json"), lerobotCalibration());
  writeFileSync(join(folder, "$HOME.json"), lerobotCalibration());
  writeFileSync(Buffer.from(`${folder}/\xFF.json`, "latin1"), lerobotCalibration());
  writeFileSync(join(folder, "nested.json"), "[".repeat(200_000));
  writeFileSync(join(home, ".profile"), "\n \t".repeat(80_000));
  writeFileSync(join(home, "bomb.yaml"), `robot: &a [${"*a,".repeat(50_000)}]`);
  mkdirSync(join(home, `src/${"d/".repeat(200)}`), { recursive: true });

  const { decided } = await detected(home);

  expect(decided?.files.map(({ path }) => path)).toEqual([join(folder, "arm.json")]);
  expect(decided?.leftOut.map(({ path }) => path)).toEqual(
    ["huge.json", "nested.json"].map((name) => join(folder, name)),
  );
});

test("detect: a cache on another disk is followed by its link, and files keep the path that the robot opens", async () => {
  const { home, root } = robotHome({ [`/data/${CALIBRATIONS}/arm.json`]: lerobotCalibration() });
  symlinkSync(join(root, "data/.cache"), join(home, ".cache"));

  const { decided } = await detected(home);

  expect(decided?.files.map(({ path }) => path)).toEqual([join(home, CALIBRATIONS, "arm.json")]);
});

test("search: neither a network mount nor a link into one is looked at", async () => {
  const { home, root } = robotHome({ "/net/data/a.json": "{}", "local.json": "{}" });
  symlinkSync(join(root, "net/data"), join(home, "data"));
  symlinkSync(root, join(home, "all"));
  const table = `1 1 0:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:2 / ${root}/net rw - nfs4 server:/ rw\n`;
  const files: Files = {
    ...systemFiles,
    mountsNow: () => table,
    async linkStat(path) {
      expect(path.startsWith(`${root}/net`)).toBe(false);
      return systemFiles.linkStat(path);
    },
  };
  const search = await opened(home, { files });

  expect(await search.find(home, "data/a.json")).toEqual([]);
  expect(await search.walk(join(root, "net"))).toEqual([]);
  expect((await search.find(join(home, "all"), "*")).map(({ name }) => name)).toEqual(["home"]);
  expect((await search.find(root, "*")).map(({ name }) => name)).toEqual(["home"]);
  expect((await search.find(home, "*.json")).map(({ name }) => name)).toEqual(["local.json"]);
  expect([...search.skipped.values()]).toContain("on a network filesystem");
});

test("search: private folders of other users are not looked at, also by root", async () => {
  const { home, root } = robotHome({ "/home/eve/secret.json": "{}", "mine.json": "{}" });
  const files: Files = {
    ...systemFiles,
    async linkStat(path) {
      const stat = await systemFiles.linkStat(path);
      return path === join(root, "home/eve") ? { ...stat, userId: 4242, mode: 0o750 } : stat;
    },
  };
  const search = await opened(home, { files });

  expect(await search.read(join(root, "home/eve/secret.json"))).toBe("");
  expect(await search.read(join(home, "mine.json"))).toBe("{}");
  expect([...search.skipped]).toEqual([[join(root, "home/eve/secret.json"), "in a private folder of another user"]]);
});

test.for([
  ["folders", { folders: 3 }, "too much was looked at already"],
  ["names", { namesInFolder: 4 }, "only 4 of its names were looked at"],
  ["time", { durationMs: -1 }, "no time was left"],
] as const)("search: its %s are bounded, and it says so", async ([, limits, reason]) => {
  const folder = testFolder("bounded");
  for (let index = 0; index < 8; index += 1) {
    mkdirSync(join(folder, `${index}`));
    writeFileSync(join(folder, `${index}/file`), "");
  }
  const search = await opened(folder, { limits });

  expect((await search.walk(folder)).length).toBeLessThan(8);
  expect([...search.skipped.values()]).toContain(reason);
});

test("detect: a search that ended early decides nothing", async () => {
  const { home } = robotHome({ [`${CALIBRATIONS}/arm.json`]: lerobotCalibration(), "a/b/c": "", "src/d/e/f": "" });
  const { decided, questions, candidates } = await detected(home, { limits: { folders: 8 } });

  expect(candidates.map(({ key }) => key)).toEqual(["so101"]);
  expect([decided, questions]).toEqual([null, ["is that all? The search ended at its limits"]]);
});

test("search: an aborted one ends", async () => {
  const search = await opened("/tmp", { signal: AbortSignal.abort(new Error("Ctrl-C")), homes: [] });

  await expect(search.walk("/tmp")).rejects.toThrow("Ctrl-C");
});

test.for([
  ["a user's own", { HOME: "/home/pat" }, 1000, ["/home/pat"]],
  ["that of the person behind sudo", { HOME: "/root", SUDO_USER: "daemon" }, 0, ["/usr/sbin"]],
  ["root's own, without sudo", { HOME: "/root" }, 0, ["/root"]],
  ["none of an unknown person", { HOME: "/root", SUDO_USER: "nobody-of-this-name" }, 0, []],
  ["none without one", {}, 1000, []],
] as const)("homesOf: %s", async ([, environment, userId, homes]) => {
  expect(await homesOf(systemFiles, environment, userId)).toEqual(homes);
});
