/**
 * Devices in the digest, under the agent as a robot runs it: real nodes and inotify, with /sys and /dev of another computer.
 *
 * @module-tag needs/root
 */
import { execFile } from "node:child_process";
import { rmSync, symlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import type { StatusDocument } from "../../../../src/agent/status.ts";
import { canMount, inShell, withOwnMounts } from "../../../support/programs/programs.ts";
import type { Daemon } from "../../../support/robot/daemon.ts";
import { digestOfContents } from "../../../support/robot/digest.ts";
import { mountDrive } from "../../../support/robot/hanging-drive.ts";
import { c920, feetech, gsUsb } from "../../../support/robot/hardware-kinds.ts";
import { createHardwareTree, type Plug, XHCI } from "../../../support/robot/hardware-tree.ts";
import { eventually, type Robot, writeAtOnce } from "../../../support/robot/robot.ts";
import { createScene, sentDigests } from "../../../support/service/scene.ts";

/** Other tests run beside these. */
const SLOW = 1.5;
const TYPE = "robot_type_id: yam.bimanual-joint-position.v1\n";
const ARM = "offset: 1\n";
/** How often /dev is looked at here, to keep the tests short; the default is 5 s. */
const QUICK = "{poll_s: 1}";
/** Longer than a look at /dev with `QUICK` and the settle time. */
const QUIET_MS = 2500;

/** A robot with these devices, whose manifest lists a file and these entries. */
async function robotWith(plugs: readonly Plug[], entries: readonly string[], watch: string) {
  const scene = await createScene({ files: { "arm.yaml": ARM }, watch });
  const { robot, proxy } = scene;
  const tree = createHardwareTree(robot.path("computer"), { realNodes: true });
  const boot = (...present: readonly Plug[]) => {
    tree.boot(present);
    // The agent starts programs.
    tree.node("null", "1:3");
  };
  boot(...plugs);
  await list(robot, entries);
  const prefix = () => {
    const mounts = ["sys", "dev"].map((each) => `mount --bind ${robot.path(`computer/${each}`)} /${each}`);
    return inShell(withOwnMounts, mounts.join("; "));
  };
  return {
    ...scene,
    tree,
    boot,
    start: (before: readonly string[] = []) => robot.startProcess({}, [...before, ...prefix()]),
    run: (args: readonly string[]) => robot.runProcess(args, {}, prefix()),
    sent: () => sentDigests(proxy),
    /** Makes a change, and waits for its registration. @returns seconds. */
    async registers(change: () => void, ...contents: readonly string[]): Promise<number> {
      const startedMs = performance.now();
      const digest = digestOfContents(ARM, ...contents);
      const count = sentDigests(proxy).length;
      change();
      await eventually(async () => sentDigests(proxy)[count], "a registration");
      const seconds = (performance.now() - startedMs) / 1000;
      expect(sentDigests(proxy).slice(count)).toEqual([digest]);
      return seconds;
    },
  };
}

async function list(robot: Robot, entries: readonly string[]): Promise<void> {
  const lines = [robot.path("arm.yaml"), ...entries].map((entry) => `  - ${entry}\n`);
  await writeAtOnce(robot.manifestPath, `${TYPE}configuration_files:\n${lines.join("")}`);
}

function registered(daemon: Daemon): Promise<StatusDocument> {
  return daemon.until(({ state }) => state === "registered");
}

function camera(serial: string): string {
  return `{"bus":"usb","index":0,"interface":0,"product":"082d","serial":"${serial}","vendor":"046d"}`;
}

function channel(serial: string): string {
  return `{"bus":"usb","channel":0,"interface":0,"product":"606f","serial":"${serial}","vendor":"1d50"}`;
}

function adapter(serial: string): string {
  return `{"bus":"usb","interface":0,"product":"55d3","serial":"${serial}","vendor":"1a86"}`;
}

const byId = (serial: string) => `/dev/v4l/by-id/usb-Logitech_HD_Pro_Webcam_C920_${serial}-video-index0`;

describe.concurrent("devices (needs root and unshare(1))", { skip: !canMount }, () => {
  test("another camera behind the owner's link in /dev → registered within 6 s, by the default settings", async () => {
    const front = (serial: string) => ({ ...c920(serial, 0, { chain: "1" }), link: "/dev/cam_front" });
    const [old, replaced] = [front("AAAA0001"), front("BBBB0002")];
    await using robot = await robotWith([old], ["{label: front camera, device: /dev/cam_front}"], "{}");
    await using daemon = await robot.start();
    await registered(daemon);
    expect(robot.sent()).toEqual([digestOfContents(ARM, camera("AAAA0001"))]);
    const swap = () => {
      robot.tree.unplug(old);
      robot.tree.plug(replaced);
    };
    expect(await robot.registers(swap, camera("BBBB0002"))).toBeLessThan(SLOW * 6);
    const { registration, registered_changes: changes } = await registered(daemon);
    expect(registration?.files.map(({ line }) => line)).toEqual([undefined, camera("BBBB0002")]);
    expect(changes).toMatchObject({ files: [{ kind: "changed", label: "front camera", path: "/dev/cam_front" }] });
    expect((await robot.run(["status"])).stdout).toMatch(
      /changed {2}front camera \(\/dev\/cam_front\): serial AAAA0001 → BBBB0002$/m,
    );
  });

  test("a camera by its stable path: replaced → within 3 s; unplugged → finding; back → nothing is sent", async () => {
    const [one, other] = [c920("AAAA0001", 0, { chain: "1" }), c920("BBBB0002", 2, { chain: "2" })];
    const place = "/dev/v4l/by-path/pci-0000:00:14.0-usb-0:1:1.0-video-index0";
    // Its links keep the folder there, as long as it is plugged in.
    const third = c920("CCCC0003", 4, { chain: "4" });
    const watch = "{resync_s: 3600, poll_s: 300}";
    await using robot = await robotWith([one, other, third], [`{device: "${place}"}`], watch);
    const { tree } = robot;
    await using daemon = await robot.start();
    await registered(daemon);
    const moved = { ...other, chain: "1" };
    const swap = () => {
      tree.unplug(one);
      tree.unplug(other);
      tree.plug(moved);
    };
    expect(await robot.registers(swap, camera("BBBB0002"))).toBeLessThan(SLOW * 3);
    tree.unplug(moved);
    const { findings, registration } = await daemon.until((status) => status.findings.length > 0);
    expect(findings.map(({ id, loc, message }) => `${id} ${loc} ${message}`)).toEqual([
      `device_missing /configuration_files/1/device Cannot find ${place}: there is no such device now; plug it in, or correct the manifest (robot-policy-agent devices lists what is there)`,
    ]);
    expect(registration?.configuration_digest).toBe(digestOfContents(ARM, camera("BBBB0002")));
    tree.plug({ ...moved, bus: 3 });
    await daemon.until(({ state }) => state === "registered");
    await daemon.lookAgain();
    expect(robot.sent()).toHaveLength(2);
  });

  test("a reboot exchanges the numbers of two cameras → one registration by number, none by a stable path; kill -9 before → nothing is sent", async () => {
    const [a, b] = [c920("AAAA0001", 0, { chain: "1" }), c920("BBBB0002", 2, { chain: "2" })];
    const numbers = ["{label: front, device: /dev/video0}", "{label: wrist, device: /dev/video2}"];
    const [lineA, lineB] = [camera("AAAA0001"), camera("BBBB0002")];
    await using byNumber = await robotWith([a, b], numbers, QUICK);
    await using byLink = await robotWith([a, b], [`device: ${byId("AAAA0001")}`, `device: ${byId("BBBB0002")}`], QUICK);
    const exchanged = [c920("AAAA0001", 2, { chain: "1", bus: 2 }), c920("BBBB0002", 0, { chain: "2", bus: 2 })];
    for (const robot of [byNumber, byLink]) {
      await using daemon = await robot.start();
      await registered(daemon);
      await daemon.stop("SIGKILL");
      expect(robot.sent()).toEqual([digestOfContents(ARM, lineA, lineB)]);
    }
    for (const robot of [byNumber, byLink]) {
      await using daemon = await robot.start();
      await registered(daemon);
      await sleep(QUIET_MS);
      expect(robot.sent()).toHaveLength(1);
      await daemon.stop();
      robot.boot(...exchanged);
    }
    const swapped = digestOfContents(ARM, lineB, lineA);
    for (const robot of [byNumber, byLink]) {
      await using daemon = await robot.start();
      if (robot === byNumber) await eventually(async () => robot.sent()[1], "a registration");
      await registered(daemon);
      await sleep(QUIET_MS);
      expect(robot.sent().slice(1)).toEqual(robot === byNumber ? [swapped] : []);
    }
  });

  test("an arm's adapter and a CAN adapter are replaced; a camera appears for 100 ms → nothing", async () => {
    const [arm, other] = [
      feetech("58FA083323", "ttyACM0", { chain: "1" }),
      feetech("58FA099999", "ttyACM0", { chain: "1" }),
    ];
    const [can, second] = [gsUsb("0032", ["can0"], { chain: "2" }), gsUsb("0077", ["can0"], { chain: "2" })];
    const entries = ["{label: arm, device: /dev/ttyACM0}", "{label: bus, interface: can0}"];
    await using robot = await robotWith([arm, can], entries, QUICK);
    const { tree } = robot;
    await using daemon = await robot.start();
    await registered(daemon);
    expect(robot.sent()).toEqual([digestOfContents(ARM, adapter("58FA083323"), channel("0032"))]);
    await robot.registers(
      () => {
        tree.unplug(arm);
        tree.plug(other);
      },
      adapter("58FA099999"),
      channel("0032"),
    );
    await robot.registers(
      () => {
        tree.unplug(can);
        tree.plug(second);
      },
      adapter("58FA099999"),
      channel("0077"),
    );
    await registered(daemon);
    for (let times = 0; times < 3; times += 1) {
      tree.unplug(other);
      tree.plug(arm);
      await sleep(100);
      tree.unplug(arm);
      tree.plug(other);
      await sleep(700);
    }
    await sleep(QUIET_MS);
    expect(robot.sent()).toHaveLength(3);
    const { stdout } = await robot.run(["digest", "--explain"]);
    const command = stdout.trimEnd().split("\n").at(-1) ?? "";
    const redone = await promisify(execFile)("sh", ["-c", command]);
    expect(`sha256:${redone.stdout.slice(0, 64)}`).toBe(robot.sent()[2]);
    expect((await robot.run(["check"])).code).toBe(0);
  });

  test("the camera is not there yet at the first boot → waits, says so, and registers once it is", async () => {
    await using robot = await robotWith([], [`device: ${byId("AAAA0001")}`], QUICK);
    await using daemon = await robot.start();
    const { findings } = await daemon.until((status) => status.findings.length > 0);
    expect(findings.map(({ id }) => id)).toEqual(["device_missing"]);
    expect(robot.sent()).toEqual([]);
    await robot.registers(() => robot.tree.plug(c920("AAAA0001", 0, { chain: "1" })), camera("AAAA0001"));
  });

  test("an attribute hangs → a finding, and the agent answers, finds files and stays up; it answers → nothing is sent", async () => {
    const plug = c920("AAAA0001", 0, { chain: "1" });
    await using robot = await robotWith([plug], ["device: /dev/video0"], QUICK);
    await mkdir(robot.robot.path("backing"));
    await mkdir(robot.robot.path("drive"));
    await writeAtOnce(robot.robot.path("backing/serial"), "AAAA0001\n");
    await using drive = await mountDrive(robot.robot);
    const serial = robot.robot.path(`computer/sys/devices/${XHCI}/usb1/1-1/serial`);
    rmSync(serial);
    symlinkSync(robot.robot.path("drive/serial"), serial);
    await using daemon = await robot.start(drive.prefix);
    await registered(daemon);
    await drive.hang();
    // What is known of the device stands as long as its node does.
    robot.tree.node("video9", "81:0");
    robot.tree.link("/dev/video0", "/dev/video9");
    const { findings } = await daemon.until((status) => status.findings.length > 0);
    expect(findings.map(({ id, message }) => `${id} ${message}`)).toEqual([
      "device_unusable Cannot use /dev/video0: the system does not answer what it is; robot-policy-agent devices lists what is there",
    ]);
    await writeAtOnce(robot.robot.path("arm.yaml"), "offset: 2\n");
    await sleep(6000);
    expect((await daemon.status()).summary).toContain("/dev/video0");
    expect(daemon.logged("disk-hangs")).toEqual([]);
    drive.answer();
    const digest = digestOfContents("offset: 2\n", camera("AAAA0001"));
    await daemon.until(({ registration }) => registration?.configuration_digest === digest);
    expect(robot.sent()).toHaveLength(2);
  });
});
