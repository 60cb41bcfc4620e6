/** What `doctor` says of the devices that a manifest lists. */
import { expect, test } from "vitest";

import { readConfiguration } from "../../../../src/agent/configuration/configuration.ts";
import { checkDevices } from "../../../../src/agent/doctor/files.ts";
import { readManifest } from "../../../../src/manifest/manifest.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { testFolder } from "../../../support/folder.ts";
import { c920, cheapCamera, cp2102 } from "../../../support/robot/hardware-kinds.ts";
import { createHardwareTree, type Plug } from "../../../support/robot/hardware-tree.ts";

async function checked(plugs: readonly Plug[], entries: readonly string[], change = {}) {
  const tree = createHardwareTree(testFolder("hardware"));
  tree.boot(plugs);
  const service = '{ url: "https://policy.example" }';
  const configuration = readConfiguration(
    Buffer.from(`service: ${service}\nrobot: { name: a, region: eu }\n`),
    "/c.yaml",
  );
  const list = entries.map((entry) => `{ ${entry} }`).join(", ");
  const text = `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files: [${list}]\n`;
  const manifest = await readManifest(Buffer.from(text));
  if (configuration.value === null || manifest.value === null) throw new Error(JSON.stringify(manifest.findings));
  const machine = { files: { ...tree.files, ...change }, clock: systemClock };
  return checkDevices(machine, configuration.value, manifest.value, new AbortController().signal);
}

const CAMERA = c920("4F3A21DF", 0, { chain: "1" });

test.each<[string, readonly Plug[], readonly string[], object]>([
  ["all there", [CAMERA], ["device: /dev/video0"], { status: "ok", what: "1 of 1 are there" }],
  [
    "one is unplugged",
    [CAMERA],
    ["device: /dev/video0", "interface: can0"],
    {
      status: "fail",
      what: "1 of 2 are there; Cannot find /sys/class/net/can0: there is no such device now",
      remedy: expect.stringContaining("plug it in"),
    },
  ],
  [
    "a twin that is not listed",
    [cp2102("ttyUSB0", { chain: "1" }), cp2102("ttyUSB1", { chain: "2" })],
    ["device: /dev/ttyUSB0"],
    {
      status: "warn",
      what: expect.stringMatching(/^1 of 1 are there; .*shares .*with .*ttyUSB1/),
      remedy: "write by: port",
    },
  ],
  [
    "twins that only the port tells apart",
    [cheapCamera(0, { chain: "1" }), cheapCamera(2, { chain: "2" })],
    ["device: /dev/video0", "device: /dev/video2"],
    { status: "warn", what: expect.stringContaining("cannot be told apart"), remedy: expect.stringContaining("mark") },
  ],
])("checkDevices: %s", async (_name, plugs, entries, expected) => {
  expect(await checked(plugs, entries)).toMatchObject(expected);
});

test("checkDevices: the system refuses to say what it is → named, with its code", async () => {
  const stat = () => Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" }));
  expect(await checked([CAMERA], ["device: /dev/video0"], { stat })).toMatchObject({
    status: "fail",
    what: "0 of 1 are there; Cannot use /dev/video0: the system does not say what it is (EIO)",
  });
});
