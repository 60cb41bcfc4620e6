import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { describe, expect, test } from "vitest";

import { type By, hardwareLine, type HardwareRequest } from "../../../src/hardware/hardware.ts";
import { identify, locate } from "../../../src/hardware/identify.ts";
import { testFolder } from "../../support/folder.ts";
import {
  c920,
  ch340,
  cheapCamera,
  cp2102,
  feetech,
  ftdi,
  gsUsb,
  jetsonCameras,
  mcp251x,
  raspberryReceiver,
  raspberrySensor,
  realsense,
  u2d2,
} from "../../support/robot/hardware-kinds.ts";
import { createHardwareTree, type HardwareTree, type Plug, XHCI } from "../../support/robot/hardware-tree.ts";

function treeOf(...plugs: readonly Plug[]): HardwareTree {
  const tree = createHardwareTree(testFolder("hardware"));
  tree.boot(plugs);
  return tree;
}

function requestOf(name: string): HardwareRequest {
  return name.startsWith("/") ? { device: name } : { interface: name };
}

/** The line of a device, or why there is none. */
async function lineOf(tree: HardwareTree, name: string, by: By = "serial"): Promise<string> {
  const hardware = await identify(requestOf(name), tree.files);
  return hardware.kind === "present" ? hardwareLine(hardware.facts, by) : JSON.stringify(hardware);
}

/** The USB controller of a Raspberry Pi 5. */
const RP1 = "platform/axi/1000120000.pcie/1f00300000.usb";
const UART = { subsystem: "amba", node: "/soc/serial@7e201000", compatible: "arm,pl011" };

describe("the line", () => {
  test.each<readonly [what: string, plug: Plug | readonly Plug[], name: string, line: string]>([
    [
      "camera with a serial number",
      c920("4F3A21DF", 0, { chain: "2" }),
      "/dev/video0",
      '{"bus":"usb","index":0,"interface":0,"product":"082d","serial":"4F3A21DF","vendor":"046d"}',
    ],
    [
      "camera without one, behind a hub",
      cheapCamera(0, { chain: "1.4" }),
      "/dev/video0",
      '{"bus":"usb","index":0,"interface":0,"port":"pci0000:00/14.0/usbv2/1.4","product":"5830","vendor":"0bda"}',
    ],
    [
      "depth of a RealSense",
      realsense("021423051092", 0, { chain: "3", version: "3.10" }),
      "/dev/video0",
      '{"bus":"usb","index":0,"interface":0,"product":"0b3a","serial":"021423051092","vendor":"8086"}',
    ],
    [
      "infrared of a RealSense",
      realsense("021423051092", 0, { chain: "3" }),
      "/dev/video2",
      '{"bus":"usb","index":2,"interface":0,"product":"0b3a","serial":"021423051092","vendor":"8086"}',
    ],
    [
      "colour of a RealSense",
      realsense("021423051092", 0, { chain: "3" }),
      "/dev/video4",
      '{"bus":"usb","index":0,"interface":3,"product":"0b3a","serial":"021423051092","vendor":"8086"}',
    ],
    [
      "FTDI adapter",
      ftdi("A9M9X1AB", "ttyUSB0", { chain: "2" }),
      "/dev/ttyUSB0",
      '{"bus":"usb","channel":0,"interface":0,"product":"6001","serial":"A9M9X1AB","vendor":"0403"}',
    ],
    [
      "U2D2 by the link of udev",
      u2d2("FT62AJ8P", "ttyUSB0", { chain: "2" }),
      "/dev/serial/by-id/usb-FTDI_USB__-__Serial_Converter_FT62AJ8P-if00-port0",
      '{"bus":"usb","channel":0,"interface":0,"product":"6014","serial":"FT62AJ8P","vendor":"0403"}',
    ],
    [
      "CH340 on a USB controller of the device tree, whose driver has a number",
      [
        { folder: RP1, subsystem: "platform", node: "/axi/pcie@1000120000/usb@1f00300000", parts: [] },
        ch340("ttyUSB0", { chain: "1", bus: 3, controller: `${RP1}/xhci-hcd.1` }),
      ],
      "/dev/ttyUSB0",
      '{"bus":"usb","channel":0,"interface":0,"port":"/axi/pcie@1000120000/usb@1f00300000/usbv2/1","product":"7523","vendor":"1a86"}',
    ],
    [
      "CH340 on a USB controller without one, whose driver takes a number",
      ch340("ttyUSB0", { chain: "1", controller: "platform/PNP0D10:00/xhci-hcd.1.auto" }),
      "/dev/ttyUSB0",
      '{"bus":"usb","channel":0,"interface":0,"port":"platform/PNP0D10:00/usbv2/1","product":"7523","vendor":"1a86"}',
    ],
    [
      "Feetech board",
      feetech("58FA083323", "ttyACM0", { chain: "4" }),
      "/dev/ttyACM0",
      '{"bus":"usb","interface":0,"product":"55d3","serial":"58FA083323","vendor":"1a86"}',
    ],
    [
      "second channel of a CAN adapter",
      gsUsb("0032", ["can0", "can1"], { chain: "1" }),
      "can1",
      '{"bus":"usb","channel":1,"interface":0,"product":"606f","serial":"0032","vendor":"1d50"}',
    ],
    [
      "CAN chip on SPI",
      mcp251x("can0"),
      "can0",
      '{"bus":"spi","channel":0,"compatible":"microchip,mcp2515","port":"/soc/spi@7e204000/mcp2515@0"}',
    ],
    [
      "CAN chip on SPI without a device tree",
      {
        folder: `${XHCI}/pxa2xx-spi.3.auto/spi_master/spi1/spi1.0`,
        subsystem: "spi",
        parts: [{ can: "can0" }],
      },
      "can0",
      '{"bus":"spi","channel":0,"port":"pci0000:00/14.0/0"}',
    ],
    [
      "CAN card behind a bridge",
      {
        folder: "pci0000:00/0000:00:1c.4/0000:03:00.0",
        subsystem: "pci",
        attributes: { vendor: "0x001c", device: "0x0008" },
        parts: [{ can: "can0" }, { can: "can1", channel: 1 }],
      },
      "can1",
      '{"bus":"pci","channel":1,"port":"pci0000:00/1c.4/00.0","product":"0008","vendor":"001c"}',
    ],
    [
      "camera of a Jetson",
      jetsonCameras([9, 10]),
      "/dev/video1",
      '{"bus":"platform","compatible":"nvidia,tegra-camrtc-capture-vi","index":1,"name":"vi-output, imx219","port":"/tegra-capture-vi"}',
    ],
    [
      "sensor of a Raspberry Pi",
      raspberrySensor("imx477", 10, "v4l-subdev0"),
      "/dev/v4l-subdev0",
      '{"bus":"i2c","compatible":"sony,imx477","index":0,"name":"imx477","port":"/soc/i2c0mux/i2c@1/imx477@10"}',
    ],
    [
      "serial port of a board",
      { folder: "platform/soc/fe201000.serial", ...UART, parts: [{ tty: "ttyAMA0", type: 32 }] },
      "/dev/ttyAMA0",
      '{"bus":"amba","channel":0,"compatible":"arm,pl011","port":"/soc/serial@7e201000"}',
    ],
    [
      "serial port of a PC",
      { folder: "pnp0/00:04", subsystem: "pnp", parts: [{ tty: "ttyS0", type: 4 }] },
      "/dev/ttyS0",
      '{"bus":"pnp","channel":0,"port":"pnp0/00:04"}',
    ],
  ])("%s", async (_what, plug, name, line) => {
    expect(await lineOf(treeOf(...[plug].flat()), name)).toBe(line);
  });

  test("by: port → the port in place of the serial number", async () => {
    const tree = treeOf(cp2102("ttyUSB0", { chain: "1.2" }), cp2102("ttyUSB1", { chain: "1.3" }));
    expect(await lineOf(tree, "/dev/ttyUSB0")).toBe(await lineOf(tree, "/dev/ttyUSB1"));
    expect(await lineOf(tree, "/dev/ttyUSB0", "port")).toContain('"port":"pci0000:00/14.0/usbv2/1.2"');
    expect(await lineOf(tree, "/dev/ttyUSB1", "port")).toContain('"port":"pci0000:00/14.0/usbv2/1.3"');
    expect(await lineOf(tree, "/dev/ttyUSB0", "port")).not.toContain("serial");
  });

  test("USB 2 and USB 3 sockets of one controller with equal numbers → two ports", async () => {
    const two = await lineOf(treeOf(cheapCamera(0, { chain: "1" })), "/dev/video0");
    const three = await lineOf(treeOf(cheapCamera(0, { chain: "1", bus: 2, version: "3.00" })), "/dev/video0");
    expect([two, three].map((line) => /usbv./.exec(line)?.[0])).toEqual(["usbv2", "usbv3"]);
  });

  test("a camera module of a Raspberry Pi: the receiver names the sensor that the device tree joins it with", async () => {
    const tree = treeOf(raspberryReceiver("video0"), raspberrySensor("imx219", 10, "v4l-subdev0"));
    const [theirs, ours] = ["/soc/i2c0mux/i2c@1/imx219@10", "/soc/csi@7e801000"];
    tree.write(`/sys/firmware/devicetree/base${theirs}/port/endpoint/phandle`, Uint8Array.of(0, 0, 0, 0x1d));
    tree.write(`/sys/firmware/devicetree/base${ours}/port/endpoint/remote-endpoint`, Uint8Array.of(0, 0, 0, 0x1d));
    expect(await lineOf(tree, "/dev/video0")).toContain('"name":"unicam-image"');
    expect(await lineOf(tree, "/dev/video0")).toContain('"sensor":"sony,imx219"');
    tree.write(`/sys/firmware/devicetree/base${theirs}/port/endpoint/phandle`, Uint8Array.of(0, 0, 0, 0x1e));
    expect(await lineOf(tree, "/dev/video0")).not.toContain("sensor");
  });

  test.each(["é".normalize("NFC"), 'a"b\\c', "x\ty"])("serial number %j → escaped as JSON wants it", async (serial) => {
    const line = await lineOf(treeOf(ftdi(serial, "ttyUSB0", { chain: "1" })), "/dev/ttyUSB0");
    expect(JSON.parse(line)).toMatchObject({ serial });
    expect(line).toContain(JSON.stringify(serial));
  });

  test("serial numbers that are not UTF-8 → different lines, well-formed", async () => {
    const lines = await Promise.all(
      [0xfe, 0xff].map(async (byte) => {
        const plug = { ...ftdi("", "ttyUSB0", { chain: "1" }), serial: Uint8Array.of(0x41, byte, 0x0a) };
        return lineOf(treeOf(plug), "/dev/ttyUSB0");
      }),
    );
    expect(lines.map((line) => JSON.parse(line).serial)).toEqual(["Aþ", "Aÿ"]);
  });
});

describe("what a boot or a plug changes", () => {
  const one = (video: number, bus = 1) => c920("AAAA0001", video, { chain: "1", bus });
  const other = (video: number, bus = 1) => c920("BBBB0002", video, { chain: "2", bus });
  const byId = "/dev/v4l/by-id/usb-Logitech_HD_Pro_Webcam_C920_AAAA0001-video-index0";

  test("nodes and buses have other numbers → the same line by a stable path, another one by the number", async () => {
    const tree = treeOf(one(0), other(2));
    const before = [await lineOf(tree, byId), await lineOf(tree, "/dev/video0")];
    tree.boot([other(0, 5), one(2, 5)]);
    const after = [await lineOf(tree, byId), await lineOf(tree, "/dev/video0")];
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
    expect(after[1]).toContain("BBBB0002");
  });

  test("the I²C bus of a CSI camera has another number → the same line; another sensor → another line", async () => {
    const [before, after] = [treeOf(jetsonCameras([9, 10])), treeOf(jetsonCameras([7, 8]))];
    expect(await lineOf(after, "/dev/video0")).toBe(await lineOf(before, "/dev/video0"));
    const replaced = treeOf(jetsonCameras([9, 10], ["imx477", "imx219"]));
    expect(await lineOf(replaced, "/dev/video0")).not.toBe(await lineOf(before, "/dev/video0"));
  });

  test("the SPI bus has another number → the same line; another chip of it → another line", async () => {
    expect(await lineOf(treeOf(mcp251x("can0", 0, 3)), "can0")).toBe(await lineOf(treeOf(mcp251x("can0")), "can0"));
    expect(await lineOf(treeOf(mcp251x("can0", 1)), "can0")).not.toBe(await lineOf(treeOf(mcp251x("can0")), "can0"));
  });

  test("a PCI bus has another number, because a card was added → the same port", async () => {
    const plug = (card: string) =>
      cheapCamera(0, { chain: "1", controller: `pci0000:00/0000:00:1c.4/0000:${card}:00.0` });
    expect(await lineOf(treeOf(plug("05")), "/dev/video0")).toBe(await lineOf(treeOf(plug("03")), "/dev/video0"));
  });

  test("a newer kernel has a folder for each port of a serial card → the same lines", async () => {
    const card = "pci0000:00/0000:00:1c.0/0000:02:00.0";
    const base = { folder: card, subsystem: "pci", attributes: { vendor: "0x1415", device: "0xc158" } };
    const before = treeOf({
      ...base,
      parts: [
        { tty: "ttyS4", type: 16 },
        { tty: "ttyS10", type: 16 },
      ],
    });
    const after = treeOf({ ...base, parts: [] });
    for (const [place, tty] of ["ttyS4", "ttyS10"].entries()) {
      const folder = `${card}/0000:02:00.0:0/0000:02:00.0:0.${place}`;
      after.plug({ folder, subsystem: "serial-base", parts: [{ tty, type: 16 }] });
    }
    for (const name of ["/dev/ttyS4", "/dev/ttyS10"])
      expect(await lineOf(after, name)).toBe(await lineOf(before, name));
    expect(await lineOf(after, "/dev/ttyS10")).toContain('"channel":1');
    expect(await lineOf(after, "/dev/ttyS4")).toContain('"channel":0');
  });

  test("a newer driver gives the channel twice → the same line", async () => {
    const adapter = gsUsb("0032", [], { chain: "1" });
    const [before, after] = [
      { can: "can1", channel: 1 },
      { can: "can1", channel: 1, devPort: 1 },
    ];
    const lines = [before, after].map((part) => lineOf(treeOf({ ...adapter, parts: [part] }), "can1"));
    expect(await lines[0]).toBe(await lines[1]);
  });

  test("an adapter is replaced → another line", async () => {
    const tree = treeOf(u2d2("FT62AJ8P", "ttyUSB0", { chain: "1" }));
    const before = await lineOf(tree, "/dev/ttyUSB0");
    tree.boot([u2d2("FT7WBEKJ", "ttyUSB0", { chain: "1" })]);
    expect(await lineOf(tree, "/dev/ttyUSB0")).not.toBe(before);
  });

  test("firmware and texts of a device → the same line", async () => {
    const camera = c920("AAAA0001", 0, { chain: "1" });
    const tree = treeOf(camera);
    const before = await lineOf(tree, "/dev/video0");
    tree.write(`/sys/devices/${XHCI}/usb1/1-1/bcdDevice`, "0200\n");
    tree.write(`/sys/devices/${XHCI}/usb1/1-1/product`, "C920 PRO\n");
    expect(await lineOf(tree, "/dev/video0")).toBe(before);
  });
});

describe("the stamp", () => {
  async function stampOf(tree: HardwareTree, name: string): Promise<string> {
    const place = await locate(requestOf(name), tree.files);
    return place.kind === "place" ? place.stamp : place.kind;
  }

  test("the device is written to → the same", async () => {
    const tree = treeOf(ch340("ttyUSB0", { chain: "1" }));
    const before = await stampOf(tree, "/dev/ttyUSB0");
    writeFileSync(join(tree.folder, "dev/ttyUSB0"), "char/188:0");
    expect(await stampOf(tree, "/dev/ttyUSB0")).toBe(before);
  });

  test("plugged in again, at the same port and with the same numbers, in a container whose /dev stays → another one", async () => {
    const tree = treeOf(ch340("ttyUSB0", { chain: "1" }));
    const before = await stampOf(tree, "/dev/ttyUSB0");
    rmSync(join(tree.folder, "sys/devices", XHCI, "usb1/1-1"), { recursive: true });
    tree.plug(ch340("ttyUSB0", { chain: "1" }));
    writeFileSync(join(tree.folder, "dev/ttyUSB0"), "char/188:0");
    expect(await stampOf(tree, "/dev/ttyUSB0")).not.toBe(before);
  });

  test("the link leads to another node → another one", async () => {
    const tree = treeOf(ch340("ttyUSB0", { chain: "1" }), ch340("ttyUSB1", { chain: "2" }));
    tree.link("/dev/ttyDXL", "/dev/ttyUSB0");
    const before = await stampOf(tree, "/dev/ttyDXL");
    tree.link("/dev/ttyDXL", "/dev/ttyUSB1");
    expect(await stampOf(tree, "/dev/ttyDXL")).not.toBe(before);
  });
});

describe("no hardware", () => {
  test.each(["/dev/null", "/dev/pts/3", "/dev/video9", "/dev/video10", "vcan0", "/dev/ttyS1"])(
    "%s → none",
    async (name) => {
      const tree = treeOf(
        { folder: "platform/vivid.0", subsystem: "platform", parts: [{ video: "video10" }] },
        { folder: "platform/serial8250", subsystem: "platform", parts: [{ tty: "ttyS1", type: 0 }] },
      );
      tree.addVirtual("mem", "null");
      tree.addVirtual("video4linux", "video9");
      tree.addVirtual("net", "vcan0");
      tree.node("pts/3", "136:3");
      expect(await lineOf(tree, name)).toBe('{"kind":"no-hardware"}');
    },
  );

  test("a link of /sys that leads elsewhere, or deeper than devices lie → none", async () => {
    const tree = treeOf();
    tree.node("one", "240:1");
    tree.link("/sys/dev/char/240:1", "/etc");
    tree.node("deep", "240:2");
    const deep = `/sys/devices/${"a/".repeat(70)}b`;
    tree.link("/sys/dev/char/240:2", deep);
    expect(await lineOf(tree, "/dev/one")).toBe('{"kind":"no-hardware"}');
    expect(await lineOf(tree, "/dev/deep")).toBe('{"kind":"no-hardware"}');
  });

  test.each([
    ["/dev/missing", '{"kind":"failed","code":"ENOENT","path":"/dev/missing"}'],
    ["/dev/loop-a", '{"kind":"failed","code":"ELOOP","path":"/dev/loop-a"}'],
    ["/dev/folder", '{"kind":"not-a-device"}'],
    ["/dev/file", '{"kind":"not-a-device"}'],
    ["can7", '{"kind":"failed","code":"ENOENT","path":"/sys/class/net/can7"}'],
    ["../../dev", '{"kind":"failed","code":"ENODEV","path":"/sys/class/net/../../dev"}'],
  ])("%s → %s", async (name, answer) => {
    const tree = treeOf();
    symlinkSync("loop-b", join(tree.folder, "dev/loop-a"));
    symlinkSync("loop-a", join(tree.folder, "dev/loop-b"));
    mkdirSync(join(tree.folder, "dev/folder"));
    tree.write("/dev/file", "text");
    expect(await lineOf(tree, name)).toBe(answer);
  });
});

describe("a device that misbehaves", () => {
  const serial = `/sys/devices/${XHCI}/usb1/1-1/serial`;

  test("an attribute of more than 4 KiB → refused with its path", async () => {
    const tree = treeOf(ftdi("A", "ttyUSB0", { chain: "1" }));
    tree.write(serial, "x".repeat(4097));
    expect(await lineOf(tree, "/dev/ttyUSB0")).toBe(JSON.stringify({ kind: "failed", code: "EFBIG", path: serial }));
  });

  test("the serial number cannot be read → refused, and not taken for a device without one", async () => {
    const tree = treeOf(ftdi("A", "ttyUSB0", { chain: "1" }));
    const failing = { ...tree.files, openForReading: failingAt(tree, serial, "EIO") };
    const hardware = await identify({ device: "/dev/ttyUSB0" }, failing);
    expect(hardware).toEqual({ kind: "failed", code: "EIO", path: serial });
  });

  test("unplugged while it is read → absent, and not taken for a device without a serial number", async () => {
    const tree = treeOf(ftdi("A", "ttyUSB0", { chain: "1" }));
    const vanishing = {
      ...tree.files,
      openForReading: async (path: string) => {
        if (path === serial) rmSync(dirname(join(tree.folder, path)), { recursive: true });
        return tree.files.openForReading(path);
      },
    };
    expect(await identify({ device: "/dev/ttyUSB0" }, vanishing)).toMatchObject({ kind: "failed", code: "ENOENT" });
  });

  test("unplugged before the kernel's entry is read → absent, and not a node without hardware", async () => {
    const tree = treeOf(ftdi("A", "ttyUSB0", { chain: "1" }));
    const vanishing = {
      ...tree.files,
      readLink: async (path: string) => {
        if (path.startsWith("/sys/dev/")) tree.boot([]);
        return tree.files.readLink(path);
      },
    };
    const hardware = await identify({ device: "/dev/ttyUSB0" }, vanishing);
    expect(hardware).toEqual({ kind: "failed", code: "ENOENT", path: "/dev/ttyUSB0" });
  });

  test("replaced while it is read → absent for this look", async () => {
    const tree = treeOf(ftdi("A", "ttyUSB0", { chain: "1" }));
    const replaced = {
      ...tree.files,
      openForReading: async (path: string) => {
        const opened = await tree.files.openForReading(path);
        if (path === serial) tree.boot([ftdi("B", "ttyUSB0", { chain: "1" })]);
        return opened;
      },
    };
    const folder = `/sys/devices/${XHCI}/usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0`;
    expect(await identify({ device: "/dev/ttyUSB0" }, replaced)).toEqual({
      kind: "failed",
      code: "ENODEV",
      path: folder,
    });
  });
});

function failingAt(tree: HardwareTree, where: string, code: string): HardwareTree["files"]["openForReading"] {
  return async (path) => {
    if (path === where) throw Object.assign(new Error(code), { code, path });
    return tree.files.openForReading(path);
  };
}
