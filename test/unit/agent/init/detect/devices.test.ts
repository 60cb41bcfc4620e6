/** Which of a computer's devices `init` proposes for the manifest, asks about, and leaves out. */
import { expect, test } from "vitest";

import { findDevices } from "../../../../../src/agent/init/detect/devices.ts";
import { proposalLines } from "../../../../../src/agent/init/detect/proposal.ts";
import { documentsOf } from "../../../../../src/agent/init/answers.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { testFolder } from "../../../../support/folder.ts";
import {
  c920,
  ch340,
  cheapCamera,
  cp2102,
  feetech,
  gsUsb,
  jetsonCameras,
  raspberryReceiver,
  realsense,
  u2d2,
} from "../../../../support/robot/hardware-kinds.ts";
import { createHardwareTree, type Plug, XHCI } from "../../../../support/robot/hardware-tree.ts";

const signal = new AbortController().signal;
const NONE = { devices: [], leftOut: [] };

function treeOf(...plugs: readonly Plug[]) {
  const tree = createHardwareTree(testFolder("hardware"));
  tree.boot(plugs);
  return tree;
}

async function foundOn({ files }: ReturnType<typeof treeOf>, arms = 1) {
  const { devices, leftOut } = (await findDevices(arms, { files, clock: systemClock, signal })) ?? NONE;
  const short = (entry: string) => entry.replace(/^- \{ (?:device|interface): (?:\/dev\/)?/, "").replace(/ \}$/, "");
  return {
    taken: devices.filter(({ question }) => question === null).map(({ entry }) => short(entry)),
    asked: devices.filter(({ question }) => question !== null).map(({ entry }) => short(entry)),
    leftOut: leftOut.map(({ path }) => path),
  };
}

const UART: Plug = {
  folder: "pnp0/00:04",
  subsystem: "pnp",
  parts: [{ tty: "ttyS0", type: 4 }],
};
const BY_PATH = "by-path/pci-0000:00:14.0-usb-0";

test.each<[string, readonly Plug[], number, Partial<Awaited<ReturnType<typeof foundOn>>>]>([
  ["a camera, and its node for metadata", [c920("4F3A21DF", 0, { chain: "1" })], 1, { leftOut: ["/dev/video1"] }],
  [
    "two cheap cameras → by their ports",
    [cheapCamera(0, { chain: "1" }), cheapCamera(2, { chain: "2" })],
    1,
    { taken: [1, 2].map((port) => `v4l/${BY_PATH}:${port}:1.0-video-index0, by: port`) },
  ],
  [
    "a RealSense → depth and colour",
    [realsense("0001", 0, { chain: "1" })],
    1,
    {
      taken: [0, 3].map((face) => `v4l/${BY_PATH}:1:1.${face}-video-index0`),
      leftOut: ["/dev/video1", "/dev/video2", "/dev/video3", "/dev/video5"],
    },
  ],
  ["a camera of the board", [raspberryReceiver("video0")], 1, { taken: ["video0"] }],
  ["cameras of a Jetson", [jetsonCameras([9, 10])], 1, { asked: [] }],
  ["one servo adapter", [u2d2("FT62AJ8P", "ttyUSB0", { chain: "1" })], 1, { asked: [] }],
  [
    "servo adapters of a follower and its leader → asked",
    [feetech("A", "ttyACM0", { chain: "1" }), feetech("B", "ttyACM1", { chain: "2" })],
    1,
    { taken: [], asked: ["A", "B"].map((serial) => `serial/by-id/usb-1a86_USB_Single_Serial_${serial}-if00`) },
  ],
  [
    "servo adapters of two arms",
    [feetech("A", "ttyACM0", { chain: "1" }), feetech("B", "ttyACM1", { chain: "2" })],
    2,
    { taken: ["A", "B"].map((serial) => `serial/by-id/usb-1a86_USB_Single_Serial_${serial}-if00`), asked: [] },
  ],
  ["one CAN adapter", [gsUsb("0032", ["can0"], { chain: "1" })], 1, { taken: ["can0"] }],
  [
    "two channels, and one arm → asked",
    [gsUsb("0032", ["can0", "can1"], { chain: "1" })],
    1,
    { asked: ["can0", "can1"] },
  ],
  [
    "adapters of all kinds of boards → asked",
    [ch340("ttyUSB0", { chain: "1" }), cp2102("ttyUSB1", { chain: "2" }), cp2102("ttyUSB2", { chain: "3" })],
    3,
    {
      taken: [],
      asked: [
        "serial/by-id/usb-1a86_USB_Serial-if00-port0",
        ...[2, 3].map((port) => `serial/${BY_PATH}:${port}:1.0-port0, by: port`),
      ],
    },
  ],
  ["a serial port of the board", [UART], 1, { taken: [], asked: [], leftOut: ["/dev/ttyS0"] }],
])("findDevices: %s", async (_name, plugs, arms, expected) => {
  expect(await foundOn(treeOf(...plugs), arms)).toMatchObject(expected);
});

test("findDevices: a camera in the lid of a laptop → asked", async () => {
  const tree = treeOf(c920("4F3A21DF", 0, { chain: "1" }));
  tree.write(`/sys/devices/${XHCI}/usb1/1-1/removable`, "fixed\n");
  expect(await foundOn(tree)).toMatchObject({ taken: [], asked: [expect.stringContaining("4F3A21DF")] });
});

test("findDevices: the system does not answer → null", async () => {
  const { files } = treeOf();
  const clock = { ...systemClock, sleep: async () => {} };
  expect(await findDevices(1, { files: { ...files, list: () => new Promise(() => {}) }, clock, signal })).toBeNull();
});

test("init with devices: what is printed, and what the manifest lists", async () => {
  const tree = treeOf(
    c920("4F3A21DF", 0, { chain: "1" }),
    cheapCamera(2, { chain: "2" }),
    cheapCamera(4, { chain: "3" }),
    ch340("ttyUSB0", { chain: "4" }),
    UART,
  );
  const { devices, leftOut } = (await findDevices(1, { files: tree.files, clock: systemClock, signal })) ?? NONE;
  const nothing = { candidates: [], decided: null, questions: [], looked: ["/home/pat"], skipped: [] };
  expect(proposalLines({ ...nothing, devices, leftOutDevices: leftOut }).join("\n")).toMatchInlineSnapshot(`
    "No files of a robot were found. Looked in:
      /home/pat
    Devices of the robot:
      - { device: /dev/v4l/by-id/usb-Logitech_HD_Pro_Webcam_C920_4F3A21DF-video-index0 }  colour camera, Logitech HD Pro Webcam C920, told by its serial number
      - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:2:1.0-video-index0, by: port }  colour camera, Generic USB Camera, told by its port alone: mark the cables
      - { device: /dev/v4l/by-path/pci-0000:00:14.0-usb-0:3:1.0-video-index0, by: port }  colour camera, Generic USB Camera, told by its port alone: mark the cables
    Devices to decide about:
      - { device: /dev/serial/by-id/usb-1a86_USB_Serial-if00-port0 }  serial adapter, USB Serial, told by its port; is it the robot's? Its chip is on boards of all kinds
    Devices left out:
      /dev/video1  the metadata of a picture
      /dev/video3  the metadata of a picture
      /dev/video5  the metadata of a picture
      /dev/ttyS0  built in: it changes only with the computer"
  `);
  const { manifest, findings } = await documentsOf({
    url: "https://policy.example.com",
    keyFile: "/etc/robot-policy-agent/api-key",
    caFile: null,
    allowInsecure: false,
    proxy: null,
    enrolmentKeyFile: null,
    region: "eu",
    name: null,
    labels: {},
    type: "yam.bimanual-joint-position.v1",
    unit: null,
    isExtended: false,
    files: ["/opt/yam/left.yaml"],
    devices: devices.map(({ entry }) => entry),
    ranges: [],
  });
  expect(findings).toEqual([]);
  expect(manifest).toContain(`configuration_files:
  - /opt/yam/left.yaml
  - { device: /dev/v4l/by-id/usb-Logitech_HD_Pro_Webcam_C920_4F3A21DF-video-index0 }
`);
});
