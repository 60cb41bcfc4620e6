import { expect, test } from "vitest";

import { devices } from "../../../src/agent/commands/devices.ts";
import type { Clock } from "../../../src/platform/clock.ts";
import type { Files } from "../../../src/platform/files/files.ts";
import { systemMachine } from "../../../src/platform/machine.ts";
import { testFolder } from "../../support/folder.ts";
import { runInProcess } from "../../support/programs/in-process.ts";
import { c920, cheapCamera, cp2102, gsUsb, u2d2 } from "../../support/robot/hardware-kinds.ts";
import { createHardwareTree, type Plug } from "../../support/robot/hardware-tree.ts";

const BENCH = [
  c920("4F3A21DF", 0, { chain: "1" }),
  cheapCamera(2, { chain: "2.1" }),
  cheapCamera(4, { chain: "2.2" }),
  u2d2("FT62AJ8P", "ttyUSB0", { chain: "3" }),
  cp2102("ttyUSB1", { chain: "4.1" }),
  cp2102("ttyUSB2", { chain: "4.2" }),
  gsUsb("0032", ["can0"], { chain: "5" }),
];

async function show(plugs: readonly Plug[], json: boolean, change: Partial<Files> = {}, clock: Partial<Clock> = {}) {
  const tree = createHardwareTree(testFolder("devices"));
  tree.boot(plugs);
  const system = systemMachine({}, process.pid);
  const machine = { ...system, files: { ...tree.files, ...change }, clock: { ...system.clock, ...clock } };
  return runInProcess("devices", (own) => devices({ json }, { ...own, machine, version: "0" }), { columns: 80 });
}

test("devices → a table within the terminal, the entries, and what cannot be told apart", async () => {
  const { out, err, exitCode } = await show(BENCH, false);
  expect(exitCode).toBe(0);
  const [table = ""] = out.split("\n\n");
  for (const line of table.split("\n")) expect(line.length).toBeLessThanOrEqual(80 + 8);
  // oxlint-disable-next-line no-control-regex -- emphasis begins with a control character
  expect((out + err).replaceAll(/\u001B\[\d+m/g, "")).toMatchInlineSnapshot(`
    "NAME          ROLE            WHAT IT IS                         TOLD BY
    /dev/video0   colour camera   Logitech HD Pro Webcam C920        serial 4F3A21DF
    /dev/video2   colour camera   Generic USB Camera                 port alone
    /dev/video4   colour camera   Generic USB Camera                 port alone
    /dev/ttyUSB0  servo adapter   FTDI USB <-> Serial Converter      serial FT62AJ8P
    /dev/ttyUSB1  serial adapter  Silicon Labs CP2102 USB to UART …  port alone
    /dev/ttyUSB2  serial adapter  Silicon Labs CP2102 USB to UART …  port alone
    can0          CAN interface   bytewerk candleLight USB to CAN …  serial 0032

    For configuration_files of the manifest, in the order of the robot's software:
      - { device: /dev/v4l/by-id/usb-Logitech_HD_Pro_Webcam_C920_4F3A21DF-video-index0 }
      - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:2.1:1.0-video-index0, by: port }
      - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:2.2:1.0-video-index0, by: port }
      - { device: /dev/serial/by-id/usb-FTDI_USB__-__Serial_Converter_FT62AJ8P-if00-port0 }
      - { device: /dev/serial/by-path/pci-0000:00:14.0-usb-0:4.1:1.0-port0, by: port }
      - { device: /dev/serial/by-path/pci-0000:00:14.0-usb-0:4.2:1.0-port0, by: port }
      - { interface: can0 }

    warning: /dev/video2 and /dev/video4 cannot be told apart if they are exchanged at their ports; mark cables and ports, or use devices with serial numbers
    warning: /dev/ttyUSB1 and /dev/ttyUSB2 cannot be told apart if they are exchanged at their ports; mark cables and ports, or use devices with serial numbers
    "
  `);
});

test("devices --json → the line that is hashed, and the entry", async () => {
  const { out } = await show([cp2102("ttyUSB1", { chain: "4.1" }), cp2102("ttyUSB2", { chain: "4.2" })], true);
  expect(JSON.parse(out).devices[0]).toEqual({
    role: "serial adapter",
    what: "Silicon Labs CP2102 USB to UART Bridge Controller",
    name: "/dev/ttyUSB1",
    device: "/dev/serial/by-path/pci-0000:00:14.0-usb-0:4.1:1.0-port0",
    by: "port",
    twins: ["/dev/ttyUSB2"],
    line: '{"bus":"usb","channel":0,"interface":0,"port":"pci0000:00/14.0/usbv2/4.1","product":"ea60","vendor":"10c4"}',
    entry: "- { device: /dev/serial/by-path/pci-0000:00:14.0-usb-0:4.1:1.0-port0, by: port }",
  });
});

test("devices: nothing is plugged in → says so", async () => {
  expect(await show([], false)).toEqual({
    exitCode: 0,
    out: "",
    err: "There is no camera, serial adapter or CAN interface.\n",
  });
});

test("devices: the system does not answer → fails, and says what to do", async () => {
  const never = () => new Promise<never>(() => {});
  const { exitCode, err } = await show(BENCH, false, { list: never }, { sleep: async () => {} });
  expect(exitCode).toBe(1);
  expect(err).toContain("[devices-hang]");
});
