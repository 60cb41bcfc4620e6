import { expect, test } from "vitest";
import { parse } from "yaml";

import { type Listed, listHardware, METADATA } from "../../../src/hardware/list.ts";
import { findTwins } from "../../../src/hardware/twins.ts";
import { testFolder } from "../../support/folder.ts";
import {
  c920,
  ch340,
  cheapCamera,
  cp2102,
  feetech,
  ftdi,
  gsUsb,
  mcp251x,
  raspberryReceiver,
  realsense,
  u2d2,
} from "../../support/robot/hardware-kinds.ts";
import { createHardwareTree, type Plug } from "../../support/robot/hardware-tree.ts";

function treeOf(...plugs: readonly Plug[]) {
  const tree = createHardwareTree(testFolder("hardware"));
  tree.boot(plugs);
  return tree;
}

async function listOf(...plugs: readonly Plug[]): Promise<readonly Listed[]> {
  const list = await listHardware(treeOf(...plugs).files, AbortSignal.timeout(5000));
  return list.filter(({ role }) => role !== METADATA);
}

async function linesOf(...plugs: readonly Plug[]): Promise<string> {
  const list = await listOf(...plugs);
  return list.map(({ role, what, name, entry }) => `${role} | ${what} | ${name} | ${entry}`).join("\n");
}

test("a bench with everything → role, words, and an entry by the most stable path", async () => {
  const list = await linesOf(
    c920("4F3A21DF", 0, { chain: "1" }),
    realsense("021423051092", 2, { chain: "2", bus: 2, version: "3.10" }),
    ftdi("A9M9X1AB", "ttyUSB0", { chain: "3.1" }),
    u2d2("FT62AJ8P", "ttyUSB1", { chain: "3.2" }),
    ch340("ttyUSB2", { chain: "3.3" }),
    feetech("58FA083323", "ttyACM0", { chain: "3.4" }),
    gsUsb("0032", ["can0", "can1"], { chain: "4" }),
    mcp251x("can2"),
    { folder: "pnp0/00:04", subsystem: "pnp", parts: [{ tty: "ttyS0", type: 4 }] },
    { folder: "platform/serial8250", subsystem: "platform", parts: [{ tty: "ttyS1", type: 0 }] },
  );
  expect(list).toMatchInlineSnapshot(`
    "colour camera | Logitech HD Pro Webcam C920 | /dev/video0 | - { device: /dev/v4l/by-id/usb-Logitech_HD_Pro_Webcam_C920_4F3A21DF-video-index0 }
    depth camera | Intel(R) RealSense(TM) Depth Camera 435i | /dev/video2 | - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:2:1.0-video-index0 }
    infrared camera | Intel(R) RealSense(TM) Depth Camera 435i | /dev/video4 | - { device: /dev/v4l/by-id/usb-Intel_R__RealSense_TM__Depth_Camera_435i_Intel_R__RealSense_TM__Depth_Camera_435i_021423051092-video-index2 }
    colour camera | Intel(R) RealSense(TM) Depth Camera 435i | /dev/video6 | - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:2:1.3-video-index0 }
    servo adapter | USB Single Serial | /dev/ttyACM0 | - { device: /dev/serial/by-id/usb-1a86_USB_Single_Serial_58FA083323-if00 }
    serial port | pnp0/00:04 | /dev/ttyS0 | - { device: /dev/ttyS0 }
    serial adapter | FTDI FT232R USB UART | /dev/ttyUSB0 | - { device: /dev/serial/by-id/usb-FTDI_FT232R_USB_UART_A9M9X1AB-if00-port0 }
    servo adapter | FTDI USB <-> Serial Converter | /dev/ttyUSB1 | - { device: /dev/serial/by-id/usb-FTDI_USB__-__Serial_Converter_FT62AJ8P-if00-port0 }
    serial adapter | USB Serial | /dev/ttyUSB2 | - { device: /dev/serial/by-id/usb-1a86_USB_Serial-if00-port0 }
    CAN interface | bytewerk candleLight USB to CAN adapter | can0 | - { interface: can0 }
    CAN interface | bytewerk candleLight USB to CAN adapter | can1 | - { interface: can1 }
    CAN interface | microchip,mcp2515 | can2 | - { interface: can2 }"
  `);
});

test("twins that share a serial number → by: port, and the path by port", async () => {
  const [left = null, right = null] = await listOf(
    cp2102("ttyUSB0", { chain: "1.2" }),
    cp2102("ttyUSB1", { chain: "1.3" }),
  );
  expect(left).toMatchObject({ by: "port", twins: ["/dev/ttyUSB1"] });
  expect(parse(left?.entry ?? "")).toEqual([
    { device: "/dev/serial/by-path/pci-0000:00:14.0-usb-0:1.2:1.0-port0", by: "port" },
  ]);
  expect(parse(right?.entry ?? "")).toEqual([
    { device: "/dev/serial/by-path/pci-0000:00:14.0-usb-0:1.3:1.0-port0", by: "port" },
  ]);
});

test("twins without a serial number → by: port, which says that nothing else tells them apart", async () => {
  const list = await listOf(cheapCamera(0, { chain: "1" }), cheapCamera(2, { chain: "2" }));
  expect(list.map(({ entry, twins }) => ({ entry, twins }))).toEqual([
    {
      entry: "- { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:1:1.0-video-index0, by: port }",
      twins: ["/dev/video2"],
    },
    {
      entry: "- { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:2:1.0-video-index0, by: port }",
      twins: ["/dev/video0"],
    },
  ]);
});

test("a link of the owner's own rule → preferred, and quoted where YAML wants it", async () => {
  const tree = treeOf(c920("4F3A21DF", 0, { chain: "1" }), ftdi("A9M9X1AB", "ttyUSB0", { chain: "2" }));
  tree.link("/dev/cam_front", "/dev/video0");
  tree.link("/dev/arm, left", "/dev/ttyUSB0");
  const list = await listHardware(tree.files, AbortSignal.timeout(5000));
  const pictures = list.filter(({ role }) => role !== METADATA);
  expect(pictures.map(({ entry }) => entry)).toEqual([
    "- { device: /dev/cam_front }",
    '- { device: "/dev/arm, left" }',
  ]);
});

test("codecs of a board, consoles, virtual cameras and ethernet → not listed", async () => {
  const tree = treeOf(raspberryReceiver("video0"), {
    folder: "platform/soc/fe00b840.mailbox/bcm2835-codec",
    subsystem: "platform",
    node: "/soc/mailbox@7e00b840/codec",
    parts: [{ video: "video10", card: "bcm2835-codec-decode" }],
  });
  tree.addVirtual("tty", "tty1");
  tree.addVirtual("video4linux", "video20");
  tree.addVirtual("net", "vcan0");
  const list = await listHardware(tree.files, AbortSignal.timeout(5000));
  expect(list.map(({ name }) => name)).toEqual(["/dev/video0"]);
});

test("a thousand nodes → 512 are looked at; no /sys at all → none", async () => {
  const tree = treeOf();
  for (let each = 0; each < 1000; each += 1) tree.link(`/sys/class/net/can${each}`, "/sys/devices/virtual/net/can");
  let looks = 0;
  const counted = {
    ...tree.files,
    openForReading: async (path: string) => {
      looks += 1;
      return tree.files.openForReading(path);
    },
  };
  expect(await listHardware(counted, AbortSignal.timeout(5000))).toEqual([]);
  expect(looks).toBe(512);
  const empty = createHardwareTree(testFolder("hardware"));
  expect(await listHardware(empty.files, AbortSignal.timeout(5000))).toEqual([]);
});

test("interrupted → stops", async () => {
  const tree = treeOf(c920("4F3A21DF", 0, { chain: "1" }));
  await expect(listHardware(tree.files, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
});

test("findTwins: adapters that share a serial number, one of them not in the manifest → by: port", async () => {
  const present = await listOf(cp2102("ttyUSB0", { chain: "1.2" }), cp2102("ttyUSB1", { chain: "1.3" }));
  const [{ facts } = { facts: { bus: "", port: "" } }] = present;
  const own = { name: "/dev/serial/by-id/left", facts };
  expect(findTwins([{ ...own, by: "serial" }], present)).toEqual([
    {
      kind: "shared-serial",
      names: ["/dev/serial/by-id/left", "/dev/ttyUSB1"],
      message: "/dev/serial/by-id/left shares vendor, product and serial number with /dev/ttyUSB1; write by: port",
    },
  ]);
  expect(findTwins([{ ...own, by: "port" }], present)).toEqual([]);
});

test("findTwins: two entries that only the port tells apart → said once, with a remedy", async () => {
  const present = await listOf(
    cheapCamera(0, { chain: "1" }),
    cheapCamera(2, { chain: "2" }),
    c920("A", 4, { chain: "3" }),
  );
  const entries = present.map((each) => ({ ...each, by: "serial" as const }));
  expect(findTwins(entries, present)).toEqual([
    {
      kind: "indistinguishable",
      names: ["/dev/video0", "/dev/video2"],
      message:
        "/dev/video0 and /dev/video2 cannot be told apart if they are exchanged at their ports; mark cables and ports, or use devices with serial numbers",
    },
  ]);
});

test("findTwins: depth and colour of one camera, and two cameras with serial numbers → nothing", async () => {
  const present = await listOf(realsense("0001", 0, { chain: "1" }), realsense("0002", 6, { chain: "2" }));
  const entries = present.map((each) => ({ ...each, by: "serial" as const }));
  expect(entries).toHaveLength(6);
  expect(findTwins(entries, present)).toEqual([]);
});
