import { execFile, execFileSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { testFolder } from "../../../support/folder.ts";
import { canMount, inShell, withOwnMounts } from "../../../support/programs/programs.ts";
import { c920, ch340, cheapCamera, cp2102, feetech, gsUsb, realsense } from "../../../support/robot/hardware-kinds.ts";
import { createHardwareTree, type HardwareTree } from "../../../support/robot/hardware-tree.ts";
import { lerobotCalibration, robotHome } from "../../../support/robot/homes.ts";

/** Runs the agent's program on the computer of this tree. */
async function runOn(tree: HardwareTree, args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  execFileSync("mknod", [join(tree.folder, "dev/null"), "c", "1", "3"]);
  const mounts = ["sys", "dev"].map((each) => `mount --bind ${join(tree.folder, each)} /${each}`).join("; ");
  const [command = "", ...argv] = inShell(withOwnMounts, mounts, [process.execPath, PROGRAM, ...args]);
  return promisify(execFile)(command, argv, { env: { ...process.env, ...environment } });
}

const PROGRAM = join(import.meta.dirname, "../../../../src/agent.ts");

test(
  "devices with real nodes, and /sys of another computer (needs root and unshare(1))",
  {
    tags: "needs/root",
    skip: !canMount,
  },
  async () => {
    const tree = createHardwareTree(testFolder("devices"), { realNodes: true });
    tree.boot([
      c920("4F3A21DF", 0, { chain: "1" }),
      cheapCamera(2, { chain: "2" }),
      realsense("021423051092", 4, { chain: "3", bus: 2, version: "3.10" }),
      cp2102("ttyUSB0", { chain: "4.1" }),
      cp2102("ttyUSB1", { chain: "4.2" }),
      gsUsb("0032", ["can0"], { chain: "5" }),
    ]);
    symlinkSync("/dev/cam_b", join(tree.folder, "dev/cam_a"));
    symlinkSync("/dev/cam_a", join(tree.folder, "dev/cam_b"));
    const { stdout } = await runOn(tree, ["devices", "--json"]);
    const { devices } = JSON.parse(stdout);
    expect(devices.map(({ name, line }: { name: string; line: string }) => `${name} ${line}`)).toMatchInlineSnapshot(`
    [
      "/dev/video0 {"bus":"usb","index":0,"interface":0,"product":"082d","serial":"4F3A21DF","vendor":"046d"}",
      "/dev/video2 {"bus":"usb","index":0,"interface":0,"port":"pci0000:00/14.0/usbv2/2","product":"5830","vendor":"0bda"}",
      "/dev/video4 {"bus":"usb","index":0,"interface":0,"product":"0b3a","serial":"021423051092","vendor":"8086"}",
      "/dev/video6 {"bus":"usb","index":2,"interface":0,"product":"0b3a","serial":"021423051092","vendor":"8086"}",
      "/dev/video8 {"bus":"usb","index":0,"interface":3,"product":"0b3a","serial":"021423051092","vendor":"8086"}",
      "/dev/ttyUSB0 {"bus":"usb","channel":0,"interface":0,"port":"pci0000:00/14.0/usbv2/4.1","product":"ea60","vendor":"10c4"}",
      "/dev/ttyUSB1 {"bus":"usb","channel":0,"interface":0,"port":"pci0000:00/14.0/usbv2/4.2","product":"ea60","vendor":"10c4"}",
      "can0 {"bus":"usb","channel":0,"interface":0,"product":"606f","serial":"0032","vendor":"1d50"}",
    ]
  `);
  },
);

test(
  "init --detect --yes: the robot's devices are listed, what is open is asked (needs root and unshare(1))",
  { tags: "needs/root", skip: !canMount },
  async () => {
    const tree = createHardwareTree(testFolder("devices"), { realNodes: true });
    tree.boot([
      c920("4F3A21DF", 0, { chain: "1" }),
      cheapCamera(2, { chain: "2" }),
      cheapCamera(4, { chain: "3" }),
      feetech("58FA083323", "ttyACM0", { chain: "4.1" }),
      ch340("ttyUSB0", { chain: "4.2" }),
      { folder: "pnp0/00:04", subsystem: "pnp", parts: [{ tty: "ttyS0", type: 4 }] },
    ]);
    const calibration = ".cache/huggingface/lerobot/calibration/robots/so_follower/arm.json";
    const { home } = robotHome({ [calibration]: lerobotCalibration() });
    const directory = join(home, "etc");
    const given = ["--dir", directory, "--url", "https://127.0.0.1:9", "--region", "eu", "--no-test", "--unit", "deg"];
    const { stderr } = await runOn(tree, ["init", "--detect", "--yes", ...given], { HOME: home });
    expect(stderr.replaceAll(home, "~")).toMatchInlineSnapshot(`
      "Found SO-101 or SO-100 follower arm (LeRobot) (lerobot.so101-follower.v1), by LeRobot's calibration in ~/.cache/huggingface/lerobot/calibration/robots/so_follower
        ~/.cache/huggingface/lerobot/calibration/robots/so_follower/arm.json  calibration of LeRobot, of 2026-11-01
      Note: cameras and units given to LeRobot on its command line are in no file: write them to one, start it with --config_path=FILE, and list it
      Devices of the robot:
        - { device: /dev/v4l/by-id/usb-Logitech_HD_Pro_Webcam_C920_4F3A21DF-video-index0 }  colour camera, Logitech HD Pro Webcam C920, told by its serial number
        - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:2:1.0-video-index0, by: port }  colour camera, Generic USB Camera, told by its port alone: mark the cables
        - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:3:1.0-video-index0, by: port }  colour camera, Generic USB Camera, told by its port alone: mark the cables
        - { device: /dev/serial/by-id/usb-1a86_USB_Single_Serial_58FA083323-if00 }  servo adapter, USB Single Serial, told by its serial number
      Devices to decide about:
        - { device: /dev/serial/by-id/usb-1a86_USB_Serial-if00-port0 }  serial adapter, USB Serial, told by its port; is it the robot's? Its chip is on boards of all kinds
      Devices left out:
        /dev/video1  the metadata of a picture
        /dev/video3  the metadata of a picture
        /dev/video5  the metadata of a picture
        /dev/ttyS0  built in: it changes only with the computer
      "
    `);
    const manifest = readFileSync(join(directory, "robot-manifest.yaml"), "utf8");
    expect(/^configuration_files:\n(?: {2}.*\n)+/m.exec(manifest)?.[0].replaceAll(home, "~")).toMatchInlineSnapshot(`
      "configuration_files:
        - ~/.cache/huggingface/lerobot/calibration/robots/so_follower/arm.json
        - { device: /dev/v4l/by-id/usb-Logitech_HD_Pro_Webcam_C920_4F3A21DF-video-index0 }
        - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:2:1.0-video-index0, by: port }
        - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:3:1.0-video-index0, by: port }
        - { device: /dev/serial/by-id/usb-1a86_USB_Single_Serial_58FA083323-if00 }
      "
    `);
  },
);
