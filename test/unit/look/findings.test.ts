import { execFileSync } from "node:child_process";
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, onTestFinished, test } from "vitest";

import { digestOfFiles } from "../../support/robot/digest.ts";
import { lookAround, meddledFiles, REAL, robot, snapshotNow, snapshotOf, temporaryFolder } from "./machine.ts";

/** Faults of paths by their names. */
const FAULTS: readonly (readonly [name: string, make: (path: string) => Promise<unknown> | unknown])[] = [
  ["missing", () => {}],
  ["link-to-nothing", (path) => symlink("/nonexistent/calibration.json", path)],
  ["folder-moved/a/x", (path) => symlink("/nonexistent/dotfiles", path.replace(/\/a\/x$/, ""))],
  ["file/x", (path) => writeFile(dirname(path), "")],
  ["directory", (path) => mkdir(path)],
  ["link-to-a-directory", (path) => symlink("/", path)],
  ["FIFO", (path) => execFileSync("mkfifo", [path])],
  [
    "socket",
    async (path) => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(path, resolve));
      onTestFinished(() => void server.close());
    },
  ],
  ["link-to-a-device", (path) => symlink("/dev/null", path)],
  ["link-to-itself", (path) => symlink(path, path)],
  ["sparse-giant", (path) => writeFile(path, "").then(() => truncate(path, 2 ** 40))],
];

/** What a look that does not wait finds, as `severity id: message`, below /etc/r. */
async function findingsOf(
  folder: string,
  paths: readonly string[],
  files = REAL.files,
  limitBytes?: number,
): Promise<readonly string[]> {
  const collected = await lookAround({ ...REAL, files }, { limitBytes }).collect(paths, { settle: false });
  if (collected.kind !== "refused") return [collected.kind];
  expect(collected.findings.map(({ path }) => path)).toEqual(collected.findings.map(({ entry }) => paths[entry]));
  return collected.findings.map(
    ({ id, severity, message }) => `${severity} ${id}: ${message.replaceAll(folder, "/etc/r")}`,
  );
}

test("scenario 27: several faults → all findings at once, each with id, path and remedy", async () => {
  const folder = await temporaryFolder();
  const paths = [join(folder, "only-half.json")];
  await writeFile(paths[0]!, "{");
  for (const [name, make] of FAULTS) {
    const path = join(folder, name);
    await make(path);
    paths.push(path);
  }
  expect((await findingsOf(folder, paths)).join("\n")).toMatchInlineSnapshot(`
    "error file_missing: Cannot find /etc/r/missing: create it, or correct the path in the manifest
    error file_missing: Cannot find /etc/r/link-to-nothing: it is a symbolic link to /nonexistent/calibration.json, which does not exist; create that, or correct the link
    error file_missing: Cannot find /etc/r/folder-moved/a/x: /etc/r/folder-moved is a symbolic link to /nonexistent/dotfiles, which does not exist; create that, or correct the link
    error file_missing: Cannot find /etc/r/file/x: a part of its path is not a directory; correct the path in the manifest
    error file_not_regular: Cannot hash /etc/r/directory: it is a folder; list the files in it that matter, or all of them with /* at the end
    error file_not_regular: Cannot hash /etc/r/link-to-a-directory: it is a folder; list the files in it that matter, or all of them with /* at the end
    error file_not_regular: Cannot hash /etc/r/FIFO: it is a FIFO, socket or device; list a regular file
    error file_not_regular: Cannot hash /etc/r/socket: it is a FIFO, socket or device; list a regular file
    error file_not_regular: Cannot hash /etc/r/link-to-a-device: it is a FIFO, socket or device; list a regular file
    error file_unreadable: Cannot read /etc/r/link-to-itself: its symbolic links form a loop; point the link to a file
    error file_too_large: Cannot hash /etc/r/sparse-giant: 1099511627776 bytes, the limit is 67108864; list only files that configure the robot, or raise the limit in the agent's configuration"
  `);
});

test.each([
  ["EACCES", "permission denied"],
  ["EPERM", "permission denied"],
  ["EMFILE", "LimitNOFILE"],
  ["EIO", "EIO"],
])(
  "scenario 27: %s at stat, open and read → finding; over → read at the next look, although its stat is the same",
  async (code, text) => {
    for (const when of ["beforeStat", "beforeOpen", "beforeRead"] as const) {
      let isBroken = true;
      const fail = () => {
        if (isBroken) throw Object.assign(new Error(code), { code });
      };
      const { paths, path, files, look, clock } = await robot(undefined, { [when]: fail });
      clock.step(2000);
      const message = expect.stringContaining(text);
      const refused = { kind: "refused", findings: [{ id: "file_unreadable", path, message }] };
      expect(await look.collect(paths, { settle: false })).toMatchObject(refused);
      expect(files.open).toBe(0);
      isBroken = false;
      expect(await look.isUnchanged(paths)).toBe(false);
      expect(snapshotOf(await look.collect(paths, { settle: false })).digest).toBe(await digestOfFiles(path));
    }
  },
);

test("missing where the unit of this program has a folder of its own → the unit is named, as by check", async () => {
  const folder = await temporaryFolder();
  await symlink(join(folder, "own/calibration.json"), join(folder, "link"));
  const mounts = `1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 8:1 /systemd-private-1-x.service/tmp ${folder}/own rw - ext4 /dev/sda rw\n`;
  const paths = ["own/x.yaml", "link", "other"].map((name) => join(folder, name));
  expect((await findingsOf(folder, paths, { ...REAL.files, mountsNow: () => mounts })).join("\n"))
    .toMatchInlineSnapshot(`
    "error file_unreadable: Cannot read /etc/r/own/x.yaml: the unit hides it from the agent (PrivateTmp=yes); move the file, or change the setting: systemctl edit robot-policy-agent
    error file_unreadable: Cannot read /etc/r/link: the unit hides it from the agent (PrivateTmp=yes); move the file, or change the setting: systemctl edit robot-policy-agent
    error file_missing: Cannot find /etc/r/other: create it, or correct the path in the manifest"
  `);
});

test("error that is no system error → thrown once every file is closed", async () => {
  const bug = new TypeError("bug");
  const { paths, files, look } = await robot(
    { slow: "a", b: "b" },
    {
      async beforeRead(path) {
        if (!path.endsWith("slow")) throw bug;
        await sleep(30);
      },
    },
  );
  await expect(look.collect(paths)).rejects.toBe(bug);
  expect(files.open).toBe(0);
});

test("scenario 27: fault → all hashes stay; fault over → only that file is read", async () => {
  const { paths, path, other, clock, files, look, confirmed } = await robot({ a: "a", b: "b" });
  await confirmed();
  await rm(other);
  await mkdir(other);
  expect(await look.collect(paths)).toMatchObject({
    kind: "refused",
    findings: [{ id: "file_not_regular", entry: 1 }],
  });
  await rm(other, { recursive: true });
  await writeFile(other, "repaired");
  await look.collect(paths);
  clock.step(500);
  files.opened.length = 0;
  expect((await look.take(paths)).digest).toBe(await digestOfFiles(path, other));
  expect(files.opened).toEqual([other]);
});

test.each([
  ["at the limit", 8, "snapshot"],
  ["one byte more", 9, "error file_too_large: Cannot hash /etc/r/a: 9 bytes, the limit is 8"],
])("scenario 27: a file %s, also where its stat says 0 bytes → %s", async (_what, bytes, expected) => {
  const { folder, paths } = await robot({ a: new Uint8Array(bytes) });
  const unsized = meddledFiles({ changeStat: (stat) => ({ ...stat, sizeBytes: 0 }) });
  for (const files of [REAL.files, unsized]) {
    expect(await findingsOf(folder, paths, files, 8)).toEqual([expect.stringContaining(expected)]);
  }
});

test.each(["/proc/version", "/sys/kernel/fscaps"])("%s → same hash as sha256sum", async (path) => {
  expect((await snapshotNow([path])).digest).toBe(await digestOfFiles(path));
});

test("scenario 27: path replaced by a FIFO between stat and open → does not hang", async () => {
  let isDone = false;
  const { folder, path, files } = await robot(undefined, {
    async beforeOpen() {
      if (isDone) return;
      isDone = true;
      await rm(path);
      execFileSync("mkfifo", [path]);
    },
  });
  expect(await findingsOf(folder, [path], files)).toEqual([expect.stringMatching(/^error file_not_regular: .* FIFO/)]);
});
