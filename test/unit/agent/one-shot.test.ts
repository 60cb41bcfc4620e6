import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { resolveFolders } from "../../../src/agent/configuration/folders.ts";
import { collectSettled, openOneShot } from "../../../src/agent/one-shot.ts";
import { saveRegistration } from "../../../src/agent/registration/registration.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { type Machine, systemMachine } from "../../../src/platform/machine.ts";
import { digestOfFiles } from "../../support/robot/digest.ts";
import { meddledFiles, snapshotNow, SteppedClock, temporaryFolder } from "../look/machine.ts";

const NEVER = new AbortController().signal;

/** A robot that is registered with one file. */
async function registeredRobot() {
  const folder = await temporaryFolder();
  const path = join(folder, "calibration.yaml");
  await writeFile(path, "offset: 0.120\n");
  await writeFile(
    join(folder, "config.yaml"),
    `service: { url: "http://127.0.0.1:1" }\nrobot: { name: arm-7, region: eu }\nmanifest: ${join(folder, "manifest.yaml")}\n`,
  );
  await writeFile(
    join(folder, "manifest.yaml"),
    `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files: ["${path}"]\n`,
  );
  const { digest, files } = await snapshotNow([path]);
  const request = {
    name: "arm-7",
    robot_type_id: "yam.bimanual-joint-position.v1",
    region: "eu",
    configuration_digest: digest,
  };
  await saveRegistration(systemFiles, folder, {
    service_url: "http://127.0.0.1:1",
    machine: null,
    request,
    in_doubt: false,
    files,
    robot: { ...request, id: "rob_1", created_at: "2026-01-01T00:00:00Z", site: null, labels: {} },
    registered_at: "2026-01-01T00:00:01Z",
  });
  const open = async (parts: Partial<Machine>, isTrusting = false) => {
    const opened = await openOneShot({
      isTrusting,
      machine: { ...systemMachine({}, process.pid), ...parts },
      folders: resolveFolders({ config: join(folder, "config.yaml"), stateDir: folder }, {}),
      state: "read",
    });
    if (opened.kind !== "opened") throw new Error(opened.kind);
    return opened.oneShot;
  };
  return { path, digest, files, open };
}

test("openOneShot: file with the registered stat → read anyway", async () => {
  const { path, digest, files, open } = await registeredRobot();
  // An image with equal timestamps replaced the first one.
  await writeFile(path, "offset: 0.180\n");
  const [known] = files;
  const swapped = meddledFiles({
    changeStat: (seen) => (known !== undefined && seen.inode === known.stat.inode ? known.stat : seen),
  });
  const oneShot = await open({ files: swapped });
  const { wanted } = await collectSettled(oneShot, NEVER);
  expect(oneShot.registration?.request.configuration_digest).toBe(digest);
  expect(wanted).toMatchObject({ kind: "body", body: { configuration_digest: await digestOfFiles(path) } });
});

test("openOneShot: file with the registered stat, trusting → taken as registered, and not read", async () => {
  const { path, digest, files, open } = await registeredRobot();
  await writeFile(path, "offset: 0.180\n");
  const [known] = files;
  const swapped = meddledFiles({
    changeStat: (seen) => (known !== undefined && seen.inode === known.stat.inode ? known.stat : seen),
  });
  const { wanted } = await collectSettled(await open({ files: swapped }, true), NEVER);
  expect(wanted).toMatchObject({ kind: "body", body: { configuration_digest: digest } });
});

test("openOneShot: file emptied since the registration → waited for as by the daemon", async () => {
  const { path, open } = await registeredRobot();
  await writeFile(path, "");
  const clock = new SteppedClock();
  const { collector, names } = await open({ clock });
  clock.step(20_000);
  expect(await collector.collect(true, names, NEVER)).toMatchObject({ kind: "unsettled", paths: [path] });
  clock.step(60_000);
  expect(await collector.collect(true, names, NEVER)).toMatchObject({ kind: "collected" });
  expect(collector.findings.map(({ id }) => id)).toEqual(["file_unparseable"]);
});
