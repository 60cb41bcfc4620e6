import { execFile, execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { testFolder } from "../../../support/folder.ts";
import { canMount, inShell, withOwnMounts } from "../../../support/programs/programs.ts";
import { c920, cheapCamera, cp2102, gsUsb, realsense } from "../../../support/robot/hardware-kinds.ts";
import { createHardwareTree } from "../../../support/robot/hardware-tree.ts";

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
    execFileSync("mknod", [join(tree.folder, "dev/null"), "c", "1", "3"]);
    symlinkSync("/dev/cam_b", join(tree.folder, "dev/cam_a"));
    symlinkSync("/dev/cam_a", join(tree.folder, "dev/cam_b"));
    const mounts = ["sys", "dev"].map((each) => `mount --bind ${join(tree.folder, each)} /${each}`).join("; ");
    const [command = "", ...argv] = inShell(withOwnMounts, mounts, [process.execPath, PROGRAM, "devices", "--json"]);
    const { stdout } = await promisify(execFile)(command, argv);
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
