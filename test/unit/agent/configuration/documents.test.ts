import { chmod, mkdir, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { findExposure, readConfigurationNow, readManifestNow } from "../../../../src/agent/configuration/documents.ts";
import { type FileStat, systemFiles } from "../../../../src/platform/files/files.ts";
import { BIMANUAL, SINGLE, writtenRobot } from "../written-robot.ts";

/** Finding ids and messages of both documents. */
function findingsOf({ documents }: Awaited<ReturnType<typeof writtenRobot>>): readonly string[] {
  const { configuration, manifest } = documents;
  return [configuration, manifest].flatMap(({ reading }) =>
    reading.findings.map(({ id, message }) => `${id}: ${message}`),
  );
}

test("read: old files → read at once, and again only when they change", async () => {
  const { documents, clock, files, manifestPath, describe } = await writtenRobot();
  expect(await documents.read(true)).toBeNull();
  expect(documents.manifest.reading.value).toMatchObject({ robot_type_id: BIMANUAL });
  clock.step(2000);
  await documents.read(true);
  const { configuration, manifest } = documents;
  files.opened.length = 0;
  await documents.read(true);
  expect(files.opened).toEqual([]);
  await describe(SINGLE);
  expect(await documents.read(true)).toEqual({ kind: "unsettled", waitMs: 500, paths: [manifestPath] });
  expect(documents.manifest).toBe(manifest);
  clock.step(500);
  expect(await documents.read(true)).toBeNull();
  expect(documents.manifest.reading.value).toMatchObject({ robot_type_id: SINGLE });
  expect(documents.configuration).toBe(configuration);
});

test("read: another manifest, and another settle time → in force with this read, without settling at once", async () => {
  const { documents, folder, configure, describe } = await writtenRobot();
  await documents.read(true);
  const other = join(folder, "other.yaml");
  await describe(SINGLE, other);
  await configure({ manifest: other, settleMs: 700 });
  expect(await documents.read(false)).toBeNull();
  expect(documents.manifest).toMatchObject({ path: other, reading: { value: { robot_type_id: SINGLE } } });
  expect([documents.settleMs(), documents.paths()[1]]).toEqual([700, other]);
});

test("scenario 30: bad edit of the configuration → finding, the last valid one stays in force; corrected → in force", async () => {
  const robot = await writtenRobot();
  const { documents, configPath, configure } = robot;
  await configure({ region: "asia" });
  await documents.read(false);
  await writeFile(configPath, "service: {}\n");
  await documents.read(false);
  expect(documents.configuration.reading.value).toBeNull();
  expect(findingsOf(robot)).toContainEqual(expect.stringContaining("url is required"));
  expect(documents.inForce.robot.region).toBe("asia");
  await configure({ region: "us" });
  await documents.read(false);
  expect([documents.inForce.robot.region, findingsOf(robot)]).toEqual(["us", []]);
});

test("areAsFound: false once a later look found other bytes, another file or none", async () => {
  const { documents, look, manifestPath, describe, clock } = await writtenRobot();
  await documents.read(true);
  const areAsFound = async () => {
    const looked = await look.at(documents.requests(), 0, { settle: false });
    return looked.kind === "looked" && documents.areAsFound(looked.found);
  };
  expect(await areAsFound()).toBe(true);
  for (const change of [
    () => describe(SINGLE),
    () => describe(SINGLE, `${manifestPath}.new`).then(() => rename(`${manifestPath}.new`, manifestPath)),
    () => rm(manifestPath),
  ]) {
    await change();
    expect(await areAsFound()).toBe(false);
    clock.step(5000);
    await documents.read(false);
    expect(await areAsFound()).toBe(true);
  }
});

test("a manifest that is a configuration file of its own → both are read, also by the next process", async () => {
  const { documents, look, manifestPath, describe, clock } = await writtenRobot();
  await describe(BIMANUAL, manifestPath, [manifestPath]);
  const file = { path: manifestPath, limitBytes: 1e9, complete: true };
  const stat = await systemFiles.stat(manifestPath);
  look.remember([{ path: manifestPath, stat, sha256: "0".repeat(64), bytes: stat.sizeBytes, suspect: false }]);
  await documents.read(false);
  expect(documents.manifest.reading.value).toMatchObject({ robot_type_id: BIMANUAL });
  await describe(SINGLE, manifestPath, [manifestPath]);
  await look.at([...documents.requests(), file], 0, { settle: false });
  clock.step(2000);
  await look.at([...documents.requests(), file], 0, { settle: false });
  await documents.read(false);
  expect(documents.manifest.reading.value).toMatchObject({ robot_type_id: SINGLE });
});

test.each<[what: string, expected: string, change: (path: string) => unknown]>([
  [
    "missing",
    "file_missing: FILE does not exist; robot-policy-agent init --dir DIR writes one into another folder, to copy here",
    () => {},
  ],
  [
    "a link to nothing",
    "file_missing: FILE is a symbolic link to /nowhere.yaml, which does not exist; create that, or correct the link",
    (path) => symlink("/nowhere.yaml", path),
  ],
  ["a folder", "file_not_regular: FILE is not a regular file", (path) => mkdir(path)],
  [
    "a giant",
    "too_large: FILE is 1099511627776 bytes; the limit is 1048576",
    (path) => writeFile(path, "").then(() => truncate(path, 2 ** 40)),
  ],
  ["a link to itself", "file_unreadable: FILE cannot be read (ELOOP)", (path) => symlink(path, path)],
])("a manifest that is %s → %s", async (_what, expected, change) => {
  const robot = await writtenRobot();
  const { documents, manifestPath, describe } = robot;
  await rm(manifestPath);
  await documents.read(false);
  await change(manifestPath);
  await documents.read(false);
  expect(findingsOf(robot)).toEqual([expected.replace("FILE", manifestPath)]);
  await rm(manifestPath, { force: true, recursive: true });
  await describe(BIMANUAL);
  await documents.read(false);
  expect(findingsOf(robot)).toEqual([]);
});

test.each([
  ["EACCES", "file_unreadable: FILE may not be read by this user; give it read permission"],
  ["EIO", "file_unreadable: FILE cannot be read (EIO)"],
])("%s → finding, and read again although its stat is the same", async (code, expected) => {
  let isBroken = true;
  const robot = await writtenRobot({
    beforeOpen(path) {
      if (isBroken && path.endsWith("manifest.yaml")) throw Object.assign(new Error(code), { code });
    },
  });
  await robot.documents.read(true);
  expect(findingsOf(robot)).toEqual([expected.replace("FILE", robot.manifestPath)]);
  isBroken = false;
  expect(await robot.look.isUnchanged(robot.documents.paths())).toBe(false);
  await robot.documents.read(true);
  expect(findingsOf(robot)).toEqual([]);
});

test("missing where the unit of this program has a folder of its own → the unit is named", async () => {
  let mounts = "";
  const robot = await writtenRobot({ mountsNow: () => mounts });
  await rm(robot.manifestPath);
  mounts = `1 0 8:1 /systemd-private-1-x.service/tmp ${robot.folder} rw - ext4 /dev/sda rw\n`;
  await robot.documents.read(false);
  expect(findingsOf(robot)).toEqual([
    expect.stringContaining("the unit hides it from the agent (PrivateTmp=yes); move the file"),
  ]);
});

test.each([readConfigurationNow, readManifestNow])(
  "%o: a file that is written all the time → file_unstable, without waiting",
  async (readNow) => {
    const robot = await writtenRobot({
      beforeRead: (path) => (path.endsWith("busy.yaml") ? writeFile(path, `${performance.now()}`) : undefined),
    });
    const path = join(robot.folder, "busy.yaml");
    await writeFile(path, "");
    const { reading } = await readNow(robot.machine, path);
    expect(reading).toMatchObject({
      value: null,
      findings: [{ id: "file_unstable", message: `${path} is being written; try again` }],
    });
  },
);

test("a configuration that everyone may write → error, not applied until its mode is corrected; a manifest → warning", async () => {
  const robot = await writtenRobot();
  const { documents, configPath, manifestPath, configure } = robot;
  await documents.read(true);
  await configure({ region: "us" });
  await chmod(configPath, 0o666);
  await chmod(manifestPath, 0o666);
  await documents.read(false);
  expect(findingsOf(robot)).toEqual([
    expect.stringMatching(/^writable_by_others: .*config.yaml has mode 0666: .* where the API key is sent; chmod o-w/),
    expect.stringMatching(/^writable_by_others: .*manifest.yaml has mode 0666: .* what is registered; chmod o-w/),
  ]);
  expect([documents.inForce.robot.region, documents.manifest.reading.value === null]).toEqual(["eu", false]);
  await chmod(configPath, 0o644);
  await documents.read(false);
  expect(documents.inForce.robot.region).toBe("us");
});

const ROOT = 0;
const AGENT = 990;
const STRANGER = 1000;
const FILE = { mode: 0o644, userId: ROOT };
const FOLDER = { mode: 0o755, userId: ROOT };
const OPEN_FOLDER = { mode: 0o777, userId: AGENT };
const OPEN = "warning: /etc/a has mode 0777: bad; chmod o-w /etc/a";

test.each([
  ["as installed", FILE, FOLDER, []],
  ["writable by its group", { ...FILE, mode: 0o664 }, FOLDER, []],
  ["of another user in a closed folder", { ...FILE, userId: STRANGER }, FOLDER, []],
  [
    "writable by everyone",
    { ...FILE, mode: 0o666 },
    FOLDER,
    ["error: /etc/a/config.yaml has mode 0666: bad; chmod o-w /etc/a/config.yaml"],
  ],
  ["in an open folder", FILE, OPEN_FOLDER, [OPEN]],
  ["of the owner of an open folder", { ...FILE, userId: AGENT }, OPEN_FOLDER, [OPEN]],
  [
    "of another user in an open folder",
    { ...FILE, userId: STRANGER },
    OPEN_FOLDER,
    [
      "error: /etc/a/config.yaml was put there by user 1000: bad; look at it, then: chown root /etc/a/config.yaml",
      OPEN,
    ],
  ],
  ["in a sticky folder such as /tmp", FILE, { ...OPEN_FOLDER, mode: 0o1777 }, []],
])("findExposure: a file %s", async (_name, file, folder, expected) => {
  const some = await systemFiles.stat("/");
  const stat = async (path: string): Promise<FileStat> => ({ ...some, ...(path.endsWith(".yaml") ? file : folder) });
  const exposure = { severity: "error", consequence: "bad" } as const;
  const findings = await findExposure({ ...systemFiles, stat }, "/etc/a/config.yaml", exposure);
  expect(findings.map(({ severity, message }) => `${severity}: ${message}`)).toEqual(expected);
});
