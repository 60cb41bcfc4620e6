import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import type { By } from "../../../src/hardware/hardware.ts";
import type { Files } from "../../../src/platform/files/files.ts";
import { testFolder } from "../../support/folder.ts";
import { digestOfContents } from "../../support/robot/digest.ts";
import { c920, cheapCamera, gsUsb } from "../../support/robot/hardware-kinds.ts";
import { createHardwareTree, type Plug } from "../../support/robot/hardware-tree.ts";
import { lookAround, OLD_MS, SteppedClock, waitOf } from "./machine.ts";

const LINE = '{"bus":"usb","index":0,"interface":0,"product":"082d","serial":"AAAA0001","vendor":"046d"}';
const OTHER = LINE.replace("AAAA0001", "BBBB0002");
const one = c920("AAAA0001", 0, { chain: "1" });
const other = c920("BBBB0002", 0, { chain: "1" });

function camera(by: By = "serial") {
  return { label: "front", path: "/dev/video0", hardware: { request: { device: "/dev/video0" }, by } };
}

/** A computer with these devices and one file, which has held still for long. */
function computer(plugs: readonly Plug[] = [one], isHung = false) {
  const tree = createHardwareTree(testFolder("devices"));
  tree.boot(plugs);
  writeFileSync(join(tree.folder, "arm.yaml"), "a: 1\n");
  const opened: string[] = [];
  const asked: string[] = [];
  const files: Files = {
    ...tree.files,
    stat: (path) => {
      asked.push(path);
      return tree.files.stat(path);
    },
    openForReading: (path) => {
      opened.push(path);
      return isHung && path.startsWith("/sys/") ? new Promise(() => {}) : tree.files.openForReading(path);
    },
  };
  const stepped = new SteppedClock();
  stepped.step(OLD_MS);
  // The limit of a look at hardware is over at once only where nothing answers.
  const step = stepped.sleep;
  const sleep = (ms: number) => (isHung || ms < 1000 ? step(ms) : new Promise<void>(() => {}));
  const clock = Object.assign(stepped, { sleep });
  const machine = { files, clock };
  return { tree, clock, opened, asked, look: lookAround(machine) };
}

describe("a device in a look", () => {
  test("snapshot → hash and length of the line, and the line; the digest is that of lines and contents in their order", async () => {
    const { look } = computer();
    const { files, digest } = await look.take(["/arm.yaml", camera()]);
    expect(digest).toBe(digestOfContents("a: 1\n", LINE));
    expect(files[1]).toMatchObject({ label: "front", path: "/dev/video0", bytes: LINE.length, line: LINE });
    expect(files[0]).not.toHaveProperty("line");
    expect((await look.take([camera(), "/arm.yaml"])).digest).toBe(digestOfContents(LINE, "a: 1\n"));
  });

  test("by: port → the port in place of the serial number; an interface → its adapter", async () => {
    const { look } = computer([one, gsUsb("0032", ["can0"], { chain: "2" })]);
    const bus = {
      label: "bus",
      path: "/sys/class/net/can0",
      hardware: { request: { interface: "can0" }, by: "serial" },
    };
    const { files } = await look.take([
      camera("port"),
      { ...bus, hardware: { ...bus.hardware, by: "serial" as const } },
    ]);
    expect(files.map(({ line }) => line)).toEqual([
      '{"bus":"usb","index":0,"interface":0,"port":"pci0000:00/14.0/usbv2/1","product":"082d","vendor":"046d"}',
      '{"bus":"usb","channel":0,"interface":0,"product":"606f","serial":"0032","vendor":"1d50"}',
    ]);
  });

  test("unchanged → true, also under other numbers; another camera → false, and it has to hold still", async () => {
    const { look, tree, clock } = computer();
    await look.take([camera()]);
    clock.step(2000);
    await look.take([camera()]);
    tree.boot([cheapCamera(2, { chain: "3" }), { ...one, bus: 4 }]);
    expect(await look.isUnchanged(["/dev/video0"])).toBe(true);
    tree.boot([other]);
    expect(await look.isUnchanged(["/dev/video0"])).toBe(false);
    expect(waitOf(await look.collect([camera()]))).toBe(500);
    clock.step(500);
    expect((await look.take([camera()])).files[0]?.line).toBe(OTHER);
  });

  test("unplugged → looked at each half second, for five seconds, then a finding; another one meanwhile → its line", async () => {
    const { look, tree, clock } = computer();
    await look.take([camera()]);
    tree.boot([]);
    let waitedMs = 0;
    for (;;) {
      const collected = await look.collect([camera()]);
      if (collected.kind !== "unsettled") break;
      expect(collected.waitMs).toBeLessThanOrEqual(500);
      clock.step(collected.waitMs);
      waitedMs += collected.waitMs;
    }
    expect(waitedMs).toBe(5000);
    expect(await look.collect([camera()])).toMatchObject({
      kind: "refused",
      findings: [{ id: "device_missing", severity: "error", path: "/dev/video0", entry: 0 }],
    });
    tree.boot([other]);
    clock.step(waitOf(await look.collect([camera()])));
    expect((await look.take([camera()])).files[0]?.line).toBe(OTHER);
  });

  test.each<[what: string, path: string, id: string, said: string]>([
    ["a file", "/arm.yaml", "device_unusable", "Cannot use /arm.yaml: it is a file or a folder, and no device"],
    ["nothing", "/dev/none", "device_missing", "Cannot find /dev/none: there is no such device now; plug it in"],
    ["software", "/dev/null", "device_missing", "Cannot find /dev/null: no hardware is behind it"],
    ["a loop of links", "/dev/a", "device_unusable", "Cannot use /dev/a: the system does not say what it is (ELOOP)"],
  ])("%s → %s: %s", async (_what, path, id, said) => {
    const { look, tree } = computer();
    tree.addVirtual("mem", "null");
    tree.link("/dev/a", "/dev/b");
    tree.link("/dev/b", "/dev/a");
    const listed = { label: path, path, hardware: { request: { device: path }, by: "serial" as const } };
    const message = expect.stringContaining(said);
    expect(await look.collect([listed], { settle: false })).toMatchObject({ findings: [{ id, message }] });
  });

  test("remembered by an earlier process → unchanged, and no file is opened but the attributes of the device", async () => {
    const before = await computer().look.take(["/arm.yaml", camera()]);
    const { look, opened, tree } = computer();
    const stat = await tree.files.stat("/arm.yaml");
    look.remember(before.files.map((file) => (file.line === undefined ? { ...file, stat } : file)));
    const { digest, readBytes, files } = await look.take(["/arm.yaml", camera()]);
    expect([digest, readBytes, files[1]?.line]).toEqual([before.digest, 0, LINE]);
    expect(opened.filter((path) => !path.startsWith("/sys/"))).toEqual([]);
  });

  test("a look at other files between → its node is never opened; verify does not ask for it", async () => {
    const { look, opened, asked, clock } = computer();
    await look.take(["/arm.yaml", camera()]);
    clock.step(3000);
    await look.take(["/arm.yaml", camera()]);
    await look.collect(["/arm.yaml"]);
    asked.length = 0;
    expect(await look.verify(Infinity, new AbortController().signal)).toEqual([]);
    expect([...asked, ...opened].filter((path) => path.startsWith("/dev/"))).toEqual([]);
  });

  test("a path that is a file's from now on → its content", async () => {
    const { look, tree } = computer();
    await look.take([camera()]);
    rmSync(join(tree.folder, "dev/video0"));
    writeFileSync(join(tree.folder, "dev/video0"), "text");
    const { files, digest } = await look.take(["/dev/video0"], { settle: false });
    expect([digest, files[0]?.line]).toEqual([digestOfContents("text"), undefined]);
  });

  test("an attribute hangs → a second later the others of the look are known", async () => {
    const { look } = computer([one], true);
    const collected = await look.collect(["/arm.yaml", camera()], { settle: false });
    expect(collected).toMatchObject({ kind: "refused", findings: [{ id: "device_unusable", path: "/dev/video0" }] });
  });
});
