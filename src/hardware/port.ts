/** Where a device hangs, in words that a boot does not change. */
import { basename, dirname } from "node:path";

import type { Files } from "../platform/files/files.ts";
import { linkOf, requiredAttribute, subsystemOf, upwards } from "./sysfs.ts";

/** Domain, bus, device and function. The bus has another number when a card with a bridge is added. */
const PCI_ADDRESS = /^[0-9a-f]{4,}:[0-9a-f]{2}:([0-9a-f]{2}\.[0-7])$/;
const PCI_ROOT = /^pci[0-9a-f]{4,}:[0-9a-f]{2}$/;
const ROOT_HUB = /^usb\d+$/;
/** Numbers that drivers take in the order in which they start. */
const AUTOMATIC = /\.\d+\.auto$/;
/** Number of the I²C or SPI bus before the address of a chip: `10-0010`, `spi0.0`. */
const I2C_ADAPTER = /^i2c-\d+$/;
const BUS_NUMBER = /^[a-z]*\d*[.-]/;
const DEVICE_TREE = "/devicetree/base";

/**
 * The stable path of a device that is built in: on PCI the host bridge, and device and function of each bridge and of the device
 * (`pci0000:00/1c.4/00.0`), else its path in the device tree, else that below /sys/devices.
 */
export async function portOf(device: string, files: Files): Promise<string> {
  for (const each of upwards(device)) {
    if (PCI_ADDRESS.test(basename(each))) return pciPath(each);
    const node = await linkOf(each, "of_node", files);
    if (node !== undefined) return node.slice(node.indexOf(DEVICE_TREE) + DEVICE_TREE.length);
    const bus = await subsystemOf(each, files);
    const isChip = (bus === "spi" || bus === "i2c") && !I2C_ADAPTER.test(basename(each));
    if (isChip) return `${await portOf(dirname(each), files)}/${basename(each).replace(BUS_NUMBER, "")}`;
  }
  const names = device.replace("/sys/devices/", "").split("/");
  return names.filter((name) => !AUTOMATIC.test(name) && !I2C_ADAPTER.test(name)).join("/");
}

/**
 * The port of a USB device: that of the controller, the version of USB, because a controller counts its sockets anew for USB 3
 * (`usbv2`, `usbv3`), and the numbers of the ports from there through all hubs (`1.4`).
 */
export async function usbPortOf(device: string, files: Files): Promise<string> {
  const chain = await requiredAttribute(device, "devpath", files);
  for (const hub of upwards(device)) {
    if (!ROOT_HUB.test(basename(hub))) continue;
    const [version = ""] = (await requiredAttribute(hub, "version", files)).split(".");
    return `${await portOf(dirname(hub), files)}/usbv${version}/${chain}`;
  }
  return chain;
}

function pciPath(device: string): string {
  const hops: string[] = [];
  for (const each of upwards(device)) {
    const hop = PCI_ADDRESS.exec(basename(each))?.[1];
    if (hop === undefined) break;
    hops.unshift(hop);
  }
  const root = device.split("/").findLast((name) => PCI_ROOT.test(name)) ?? "pci";
  return [root, ...hops].join("/");
}
