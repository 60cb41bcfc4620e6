/**
 * Writes /sys and /dev as the kernel and udev do, for devices as robots have them: folders, attributes, links and names in their layout
 * (Documentation/ABI/testing/sysfs-* of Linux, rules.d of systemd). Without root a node is a file that holds its name below /sys/dev.
 */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";

import { type Files, systemFiles } from "../../../src/platform/files/files.ts";

/** What a device shows of itself in /dev, or as an interface. */
export type Part =
  | { readonly video: string; readonly at?: number; readonly index?: number; readonly card?: string }
  | { readonly tty: string; readonly at?: number; readonly port?: number; readonly type?: number }
  | { readonly can: string; readonly at?: number; readonly channel?: number; readonly devPort?: number };

export interface UsbPlug {
  readonly vendor: string;
  readonly product: string;
  readonly serial?: string | Uint8Array;
  readonly maker?: string;
  readonly words?: string;
  /** Below /sys/devices. */
  readonly controller?: string;
  /** Number of the bus, which each boot gives anew. */
  readonly bus?: number;
  readonly version?: string;
  /** Ports from the controller on: `1.4`. */
  readonly chain: string;
  readonly parts: readonly Part[];
  /** A link that the owner's rule of udev makes to the first node. */
  readonly link?: string;
}

/** A device that is built in, such as a CSI receiver, an SPI chip or a UART. */
export interface ChipPlug {
  /** Below /sys/devices. */
  readonly folder: string;
  readonly subsystem: string;
  /** Path in the device tree. */
  readonly node?: string;
  readonly compatible?: string;
  /** For PCI. */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly parts: readonly Part[];
}

export type Plug = UsbPlug | ChipPlug;

export const XHCI = "pci0000:00/0000:00:14.0";

export type HardwareTree = ReturnType<typeof createHardwareTree>;

/** @param folder receives `sys` and `dev`. */
export function createHardwareTree(folder: string, { realNodes = false } = {}) {
  const minors = new Map<number, number>();
  /** What is made for a plug outside of /sys/devices, in this order. */
  let made: string[] = [];
  const links = new Map<Plug, readonly string[]>();

  function write(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }

  /** A relative link, which replaces another one, as udev's do. */
  function link(path: string, target: string): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    rmSync(join(folder, path), { force: true });
    symlinkSync(relative(dirname(path), target), join(folder, path));
    if (!path.startsWith("/sys/devices/")) made.push(path);
  }

  function device(path: string, subsystem: string, attributes: Readonly<Record<string, string>> = {}): void {
    link(`${path}/subsystem`, subsystem);
    for (const [name, text] of Object.entries(attributes)) write(`${path}/${name}`, `${text}\n`);
  }

  function node(name: string, numbers: string): void {
    const path = join(folder, "dev", name);
    made.push(`/dev/${name}`);
    mkdirSync(dirname(path), { recursive: true });
    if (!realNodes) writeFileSync(path, `char/${numbers}`);
    else execFileSync("mknod", [path, "c", ...numbers.split(":")]);
  }

  function classDevice(parent: string, kind: string, name: string, attributes: Readonly<Record<string, string>>): void {
    const path = `${parent}/${kind}/${name}`;
    device(path, `/sys/class/${kind}`, attributes);
    link(`${path}/device`, parent);
    link(`/sys/class/${kind}/${name}`, path);
  }

  function nodeDevice(parent: string, kind: string, name: string, attributes: Readonly<Record<string, string>>): void {
    const major =
      { video: 81, v4l: 81, ttyUSB: 188, ttyACM: 166, ttyS: 4, ttyAMA: 204 }[
        /^(?:v4l|[A-Za-z]+)/.exec(name)?.[0] ?? ""
      ] ?? 240;
    const minor = minors.get(major) ?? (major === 4 ? 64 : 0);
    minors.set(major, minor + 1);
    const numbers = `${major}:${minor}`;
    classDevice(parent, kind, name, {
      ...attributes,
      dev: numbers,
      uevent: `MAJOR=${major}\nMINOR=${minor}\nDEVNAME=${name}`,
    });
    link(`/sys/dev/char/${numbers}`, `${parent}/${kind}/${name}`);
    node(name, numbers);
  }

  function show(parent: string, part: Part): void {
    if ("video" in part)
      nodeDevice(parent, "video4linux", part.video, { index: `${part.index ?? 0}`, name: part.card ?? "Camera" });
    else if ("can" in part) {
      const attributes = {
        type: "280",
        dev_id: `0x${(part.channel ?? 0).toString(16)}`,
        dev_port: `${part.devPort ?? 0}`,
      };
      classDevice(parent, "net", part.can, attributes);
    } else if (part.tty.startsWith("ttyUSB")) {
      const serial = `${parent}/${part.tty}`;
      device(serial, "/sys/bus/usb-serial", { port_number: `${part.port ?? 0}` });
      nodeDevice(serial, "tty", part.tty, {});
    } else nodeDevice(parent, "tty", part.tty, part.type === undefined ? {} : { type: `${part.type}` });
  }

  function addUsb(plug: UsbPlug): void {
    const { controller = XHCI, bus = 1, version = "2.00", chain } = plug;
    addParents(controller);
    const root = `/sys/devices/${controller}/usb${bus}`;
    device(root, "/sys/bus/usb", {
      idVendor: "1d6b",
      idProduct: "0002",
      serial: basename(controller),
      version: ` ${version}`,
      devpath: "0",
    });
    let path = root;
    const ports = chain.split(".");
    for (const depth of ports.keys()) {
      const devpath = ports.slice(0, depth + 1).join(".");
      path += `/${bus}-${devpath}`;
      device(path, "/sys/bus/usb", {
        idVendor: "0424",
        idProduct: "2514",
        devpath,
        busnum: `${bus}`,
        devnum: `${depth + bus * 7}`,
      });
    }
    const { vendor, product, serial, maker, words } = plug;
    const texts = {
      ...(maker !== undefined && { manufacturer: maker }),
      ...(words !== undefined && { product: words }),
    };
    device(path, "/sys/bus/usb", { idVendor: vendor, idProduct: product, bcdDevice: "0100", speed: "480", ...texts });
    const [first] = plug.parts;
    if (plug.link !== undefined && first !== undefined) link(plug.link, `/dev/${Object.values(first)[0]}`);
    if (serial !== undefined) write(`${path}/serial`, typeof serial === "string" ? `${serial}\n` : serial);
    for (const part of plug.parts) {
      const at = part.at ?? 0;
      const face = `${path}/${bus}-${chain}:1.${at}`;
      device(face, "/sys/bus/usb", { bInterfaceNumber: at.toString(16).padStart(2, "0") });
      show(face, part);
      udevLinks(plug, part, at);
    }
  }

  /** As 60-persistent-v4l.rules and 60-serial.rules. */
  function udevLinks(plug: UsbPlug, part: Part, at: number): void {
    const { vendor, product, maker = vendor, words = product, serial } = plug;
    const text = [maker, words, ...(typeof serial === "string" ? [serial] : [])].join("_").replaceAll(/[^\w.-]/g, "_");
    const byPath = `pci-0000:00:14.0-usb-0:${plug.chain}:1.${at}`;
    if ("video" in part) {
      link(`/dev/v4l/by-id/usb-${text}-video-index${part.index ?? 0}`, `/dev/${part.video}`);
      link(`/dev/v4l/by-path/${byPath}-video-index${part.index ?? 0}`, `/dev/${part.video}`);
    } else if ("tty" in part) {
      const port = part.tty.startsWith("ttyUSB") ? `-port${part.port ?? 0}` : "";
      link(`/dev/serial/by-id/usb-${text}-if${`${at}`.padStart(2, "0")}${port}`, `/dev/${part.tty}`);
      link(`/dev/serial/by-path/${byPath}${port}`, `/dev/${part.tty}`);
    }
  }

  function addParents(path: string): void {
    let each = "/sys/devices";
    for (const name of path.split("/")) {
      each += `/${name}`;
      if (existsSync(join(folder, each))) continue;
      if (/^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.\d$/.test(name))
        device(each, "/sys/bus/pci", { vendor: "0x8086", device: "0xa0ed" });
      else if (each.startsWith("/sys/devices/platform/")) device(each, "/sys/bus/platform");
    }
  }

  function addChip({ folder: place, subsystem, node: tree, compatible, attributes, parts }: ChipPlug): void {
    const path = `/sys/devices/${place}`;
    addParents(dirname(place));
    device(path, `/sys/bus/${subsystem}`, attributes);
    link(`/sys/bus/${subsystem}/devices/${basename(path)}`, path);
    if (tree !== undefined) {
      link(`${path}/of_node`, `/sys/firmware/devicetree/base${tree}`);
      write(`/sys/firmware/devicetree/base${tree}/compatible`, `${compatible ?? "none"}\0simple-bus\0`);
    }
    for (const part of parts) show(path, part);
  }

  return {
    folder,
    write,
    link,
    addParents,
    /** A device of the kernel's own, such as /dev/null. */
    addVirtual(kind: string, name: string): void {
      if (kind === "net") classDevice("/sys/devices/virtual", kind, name, { type: "280" });
      else nodeDevice("/sys/devices/virtual", kind, name, {});
    },
    node,
    /** Everything is plugged in anew, as by a boot. */
    boot(plugs: readonly Plug[]): void {
      for (const each of ["sys", "dev"]) rmSync(join(folder, each), { recursive: true, force: true });
      for (const each of ["sys/class", "dev"]) mkdirSync(join(folder, each), { recursive: true });
      minors.clear();
      for (const plug of plugs) this.plug(plug);
    },
    plug(plug: Plug): void {
      made = [];
      if ("chain" in plug) addUsb(plug);
      else addChip(plug);
      links.set(plug, [...made]);
    },
    /** As the kernel and udev do: links, nodes, and last the folder; folders of links that are empty. */
    unplug(plug: UsbPlug): void {
      for (const path of links.get(plug)?.toReversed() ?? []) {
        rmSync(join(folder, path), { force: true });
        for (const emptied of path.startsWith("/dev/") ? [dirname(path), dirname(dirname(path))] : []) {
          if (emptied.startsWith("/dev/") && existsSync(join(folder, emptied))) removeIfEmpty(join(folder, emptied));
        }
      }
      const { controller = XHCI, bus = 1, chain } = plug;
      const ports = chain.split(".").map((_, index, all) => `${bus}-${all.slice(0, index + 1).join(".")}`);
      rmSync(join(folder, "sys/devices", controller, `usb${bus}`, ...ports), { recursive: true });
    },
    /** The tree as the system of this machine. */
    files: filesIn(folder),
  };
}

function removeIfEmpty(folder: string): void {
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}

/** Files below a folder, as if it were the root. Written nodes are nodes. */
function filesIn(folder: string): Files {
  const inside = (path: string) => join(folder, path);
  async function shown<Result>(path: string, work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      throw error instanceof Error ? Object.assign(error, { path }) : error;
    }
  }
  return {
    ...systemFiles,
    async stat(path) {
      const stat = await shown(path, systemFiles.stat(inside(path)));
      if (!path.startsWith("/dev/") || stat.kind !== "file") return stat;
      const deviceNode = readFileSync(inside(path), "utf8");
      return deviceNode.startsWith("char/") ? { ...stat, kind: "other", deviceNode } : stat;
    },
    linkStat: (path) => shown(path, systemFiles.linkStat(inside(path))),
    readLink: (path) => shown(path, systemFiles.readLink(inside(path))),
    openForReading: (path) => shown(path, systemFiles.openForReading(inside(path))),
    list: (path) => shown(path, systemFiles.list(inside(path))),
  };
}
