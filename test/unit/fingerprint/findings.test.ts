import { execFileSync } from "node:child_process";
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";

import { createFingerprinter } from "../../../src/fingerprint/fingerprint.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import {
  type Interference,
  LIMITS,
  listed,
  meddledFiles,
  REAL,
  snapshotOf,
  SteppedClock,
  temporaryFolder,
} from "./machine.ts";

const FAULTS: readonly (readonly [what: string, make: (path: string) => Promise<unknown> | unknown])[] = [
  ["missing", () => {}],
  ["link to nothing", (path) => symlink("/nonexistent/calibration.json", path)],
  ["below a link to nothing", (path) => symlink("/nonexistent/dotfiles", path.replace(/\/a\/x$/, ""))],
  ["below a file", async (path) => writeFile(path.replace(/\/[^/]*$/, ""), "")],
  ["directory", (path) => mkdir(path)],
  ["link to a directory", (path) => symlink("/", path)],
  ["FIFO", (path) => execFileSync("mkfifo", [path])],
  [
    "socket",
    async (path) => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(path, resolve));
      onTestFinished(() => void server.close());
    },
  ],
  ["link to a device", (path) => symlink("/dev/null", path)],
  ["link to itself", (path) => symlink(path, path)],
  [
    "sparse giant",
    async (path) => {
      await writeFile(path, "");
      await truncate(path, 2 ** 40);
    },
  ],
];

const BELOW: ReadonlyMap<string, string> = new Map([
  ["below a file", "file/x"],
  ["below a link to nothing", "folder-moved/a/x"],
]);

async function makeFaults() {
  const folder = await temporaryFolder();
  const paths: string[] = [];
  for (const [what, make] of FAULTS) {
    const path = join(folder, BELOW.get(what) ?? what.replaceAll(" ", "-"));
    await make(path);
    paths.push(path);
  }
  return { folder, paths };
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

describe("collect: findings", () => {
  test("scenario 27: several faults → all findings at once, each with id, path and remedy", async () => {
    const { folder, paths } = await makeFaults();
    const fine = join(folder, "fine.conf");
    await writeFile(fine, "fine");
    const collected = await createFingerprinter(REAL, LIMITS).collect(listed(fine, ...paths), { settle: false });
    if (collected.kind !== "refused") throw new Error(collected.kind);
    expect(collected.findings.map(({ index }) => index)).toEqual(paths.map((_, index) => index + 1));
    const lines = collected.findings.map(
      ({ id, severity, message }) => `${severity} ${id}: ${message.replaceAll(folder, "/etc/r")}`,
    );
    expect(lines.join("\n")).toMatchInlineSnapshot(`
      "error file_missing: Cannot find /etc/r/missing: create it, or correct the path in the manifest
      error file_missing: Cannot find /etc/r/link-to-nothing: it is a symbolic link to /nonexistent/calibration.json, which does not exist; create that, or correct the link
      error file_missing: Cannot find /etc/r/folder-moved/a/x: /etc/r/folder-moved is a symbolic link to /nonexistent/dotfiles, which does not exist; create that, or correct the link
      error file_missing: Cannot find /etc/r/file/x: a part of its path is not a directory; correct the path in the manifest
      error file_not_regular: Cannot hash /etc/r/directory: it is a directory; list the files in it that matter, one by one
      error file_not_regular: Cannot hash /etc/r/link-to-a-directory: it is a directory; list the files in it that matter, one by one
      error file_not_regular: Cannot hash /etc/r/FIFO: it is a FIFO, socket or device; list a regular file
      error file_not_regular: Cannot hash /etc/r/socket: it is a FIFO, socket or device; list a regular file
      error file_not_regular: Cannot hash /etc/r/link-to-a-device: it is a FIFO, socket or device; list a regular file
      error file_unreadable: Cannot read /etc/r/link-to-itself: its symbolic links form a loop; point the link to a file
      error file_too_large: Cannot hash /etc/r/sparse-giant: 1099511627776 bytes, the limit is 67108864; list only files that configure the robot, or raise the limit in the agent's configuration"
    `);
  });

  test.each([
    ["name", "gru\u0308n.yaml", "gr\u00fcn.yaml"],
    ["folder", "gru\u0308n/arm.yaml", "gr\u00fcn/arm.yaml"],
    ["composed name", "gr\u00fcn.yaml", "gru\u0308n.yaml"],
  ])(
    "a %s that looks the same in other characters → shows both, as YAML can write them",
    async (_what, onDisk, listedAs) => {
      const folder = await temporaryFolder();
      await mkdir(dirname(join(folder, onDisk)), { recursive: true });
      await writeFile(join(folder, onDisk), "a: 1\n");
      const files = listed(join(folder, listedAs));
      const collected = await createFingerprinter(REAL, LIMITS).collect(files, { settle: false });
      const [finding] = collected.kind === "refused" ? collected.findings : [];
      const [manifest = "", disk = ""] = finding?.message.match(/"[^"]*"/g) ?? [];
      expect(finding?.id).toBe("file_missing");
      expect(finding?.message).toMatch(/^Cannot find .*, which looks the same; write it like the disk/);
      expect(parse(disk)).toBe(onDisk.split("/")[0]);
      expect(parse(manifest)).toBe(listedAs.split("/")[0]);
    },
  );

  test("a missing name that is not of ASCII, with another beside it → no talk of names that look the same", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "gr\u00f6n.yaml"), "a: 1\n");
    const files = listed(join(folder, "gr\u00fcn.yaml"));
    const collected = await createFingerprinter(REAL, LIMITS).collect(files, { settle: false });
    expect(collected).toMatchObject({ findings: [{ message: expect.stringContaining("create it, or correct") }] });
  });

  test.each([
    ["EACCES", "file_unreadable", "permission denied"],
    ["EPERM", "file_unreadable", "permission denied"],
    ["EMFILE", "file_unreadable", "LimitNOFILE"],
    ["EIO", "file_unreadable", "EIO"],
  ])("scenario 27: %s at open and at read → %s", async (code, id, text) => {
    const folder = await temporaryFolder();
    const path = join(folder, "a.conf");
    await writeFile(path, "a");
    const fail = () => {
      throw systemError(code);
    };
    const failures: readonly Interference[] = [{ beforeOpen: fail }, { beforeRead: fail }, { beforeStat: fail }];
    for (const interference of failures) {
      const files = meddledFiles(interference);
      const collected = await createFingerprinter({ ...REAL, files }, LIMITS).collect(listed(path), { settle: false });
      expect(collected).toMatchObject({
        kind: "refused",
        findings: [{ id, path, message: expect.stringContaining(text) }],
      });
      expect(files.open).toBe(0);
    }
  });

  test("missing where the unit of this program has a folder of its own → the unit is named, as by check", async () => {
    const folder = await temporaryFolder();
    await symlink(join(folder, "own/calibration.json"), join(folder, "link"));
    const files = {
      ...REAL.files,
      mountsNow: () =>
        `1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 8:1 /systemd-private-1-x.service/tmp ${folder}/own rw - ext4 /dev/sda rw\n`,
    };
    const collected = await createFingerprinter({ ...REAL, files }, LIMITS).collect(
      listed(join(folder, "own/x.yaml"), join(folder, "link"), join(folder, "other")),
      { settle: false },
    );
    if (collected.kind !== "refused") throw new Error(collected.kind);
    const lines = collected.findings.map(({ id, message }) => `${id}: ${message.replaceAll(folder, "/tmp")}`);
    expect(lines.join("\n")).toMatchInlineSnapshot(`
      "file_unreadable: Cannot read /tmp/own/x.yaml: the unit hides it from the agent (PrivateTmp=yes); move the file, or change the setting: systemctl edit robot-policy-agent
      file_unreadable: Cannot read /tmp/link: the unit hides it from the agent (PrivateTmp=yes); move the file, or change the setting: systemctl edit robot-policy-agent
      file_missing: Cannot find /tmp/other: create it, or correct the path in the manifest"
    `);
  });

  test("error that is no system error → thrown", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "a.conf");
    await writeFile(path, "a");
    const bug = new TypeError("bug");
    const files = meddledFiles({
      beforeRead() {
        throw bug;
      },
    });
    const fingerprinter = createFingerprinter({ ...REAL, files }, LIMITS);
    await expect(fingerprinter.collect(listed(path), { settle: false })).rejects.toBe(bug);
    expect(files.open).toBe(0);
  });

  test("scenario 27: fault → the last snapshot and all hashes stay; fault over → no finding", async () => {
    const folder = await temporaryFolder();
    const [a, b] = [join(folder, "a.conf"), join(folder, "b.conf")];
    await writeFile(a, "a");
    await writeFile(b, "b");
    const clock = new SteppedClock();
    clock.step(60_000);
    const files = meddledFiles();
    const fingerprinter = createFingerprinter({ files, clock }, LIMITS);
    const collect = () => fingerprinter.collect(listed(a, b), { settle: true });
    snapshotOf(await collect());

    await rm(b);
    await mkdir(b);
    expect(await collect()).toMatchObject({ kind: "refused", findings: [{ id: "file_not_regular", index: 1 }] });
    expect(fingerprinter.isUnchanged(listed(a, b))).toBe(false);

    await rm(b, { recursive: true });
    await writeFile(b, "repaired");
    clock.step(60_000);
    files.opened.length = 0;
    expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(a, b));
    expect(files.opened).toEqual([b]);
  });

  test("scenario 27: file at the size limit → hashed, one byte more → refused", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "a.conf");
    await writeFile(path, "12345678");
    const limits = { ...LIMITS, fileLimitBytes: 8 };
    const collect = () => createFingerprinter(REAL, limits).collect(listed(path), { settle: false });
    expect((await collect()).kind).toBe("snapshot");
    await writeFile(path, "123456789");
    expect(await collect()).toMatchObject({ kind: "refused", findings: [{ id: "file_too_large" }] });
  });

  describe("a file of size 0 with content, as under /proc", () => {
    async function liar(content: string, fileLimitBytes = LIMITS.fileLimitBytes) {
      const folder = await temporaryFolder();
      const path = join(folder, "board.json");
      await writeFile(path, content);
      const files = meddledFiles({ changeStat: (stat) => ({ ...stat, sizeBytes: 0 }) });
      const clock = new SteppedClock();
      clock.step(60_000);
      const fingerprinter = createFingerprinter({ files, clock }, { ...LIMITS, fileLimitBytes });
      return { path, clock, fingerprinter, collect: () => fingerprinter.collect(listed(path), { settle: true }) };
    }

    test("read to its end, its stat is not trusted", async () => {
      const content = "revision c\n".repeat(2000);
      const { path, clock, fingerprinter, collect } = await liar(content);
      const collected = await collect();
      expect(collected).toMatchObject({ kind: "snapshot", warnings: [] });
      expect(snapshotOf(collected).digest).toBe(await digestOfFiles(path));
      expect(snapshotOf(collected).files[0]?.bytes).toBe(content.length);
      expect(fingerprinter.isUnchanged(listed(path))).toBe(false);
      await writeFile(path, "revision d\n");
      clock.step(60_000);
      expect(snapshotOf(await collect()).digest).toBe(await digestOfFiles(path));
    });

    test("more than the limit read → refused", async () => {
      expect((await (await liar("12345678", 8)).collect()).kind).toBe("snapshot");
      expect(await (await liar("123456789", 8)).collect()).toMatchObject({
        kind: "refused",
        findings: [{ id: "file_too_large", message: expect.stringContaining("more than 8 bytes") }],
      });
    });

    test.each(["/proc/version", "/sys/kernel/fscaps"])("%s → same hash as sha256sum", async (path) => {
      const collected = await createFingerprinter(REAL, LIMITS).collect(listed(path), { settle: false });
      expect(snapshotOf(collected).digest).toBe(await digestOfFiles(path));
    });
  });

  test("scenario 27: file that grows beyond the limit during the read → refused, no more than its first size is read", async () => {
    const folder = await temporaryFolder();
    const [path, other] = [join(folder, "a.conf"), join(folder, "b.conf")];
    await writeFile(path, "1234");
    await writeFile(other, new Uint8Array(1000));
    let readBytes = 0;
    const files = meddledFiles({
      beforeRead: (read) => (read === path ? writeFile(path, "1234".repeat(1_000_000)) : undefined),
      onRead(read, count) {
        if (read === path) readBytes += count;
      },
    });
    const fingerprinter = createFingerprinter({ ...REAL, files }, { ...LIMITS, fileLimitBytes: 1_000_000 });
    const collected = await fingerprinter.collect(listed(path, other), { settle: false });
    expect(collected).toMatchObject({ kind: "refused", findings: [{ id: "file_too_large", path }] });
    expect(readBytes).toBe(4);
  });

  test("scenario 27: path replaced by a FIFO between stat and open → does not hang", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "a.conf");
    await writeFile(path, "a");
    let isDone = false;
    const files = meddledFiles({
      async beforeOpen() {
        if (isDone) return;
        isDone = true;
        await rm(path);
        execFileSync("mkfifo", [path]);
      },
    });
    const collected = await createFingerprinter({ ...REAL, files }, LIMITS).collect(listed(path), { settle: false });
    expect(collected).toMatchObject({ kind: "refused", findings: [{ id: "file_not_regular" }] });
  });
});
