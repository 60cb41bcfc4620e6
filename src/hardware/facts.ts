/** What the kernel says of a device, from its node or interface up to the bus that it hangs on. */
import { dirname } from "node:path";

import type { Files } from "../platform/files/files.ts";
import type { Facts } from "./hardware.ts";
import { portOf, usbPortOf } from "./port.ts";
import {
  attribute,
  attributeBytes,
  linkOf,
  namesIn,
  numberOf,
  requiredAttribute,
  subsystemOf,
  upwards,
} from "./sysfs.ts";

/** Buses whose devices are hardware. What hangs on others, such as usb-serial, is a part of such a device. */
const BUSES: ReadonlySet<string> = new Set(["usb", "pci", "platform", "amba", "spi", "i2c", "pnp"]);
/** What the I²C bus gives a sensor, at the end of a camera's name: bus and address, as in `imx219 10-0010`. */
const I2C_PLACE = /\s+\d+-[0-9a-f]{4}$/;
/** How many chips are asked whether they are the sensor of a camera. */
const CHIP_LIMIT = 256;

/**
 * What is behind a node or interface.
 *
 * @param folder its folder below /sys/devices.
 * @returns null when there is no hardware.
 * @throws system errors.
 */
export async function readFacts(folder: string, files: Files): Promise<Facts | null> {
  if (folder.startsWith("/sys/devices/virtual/")) return null;
  const found = await busDevice(folder, files);
  if (found === undefined) return null;
  const { bus, device } = found;
  const kind = await subsystemOf(folder, files);
  // A driver for four serial ports makes four nodes, also where the computer has one.
  if (kind === "tty" && (await attribute(folder, "type", files)) === "0") return null;
  const part = await partOf(folder, kind, device, bus === "usb", files);
  if (bus === "usb") return { bus, ...part, ...(await usbFacts(device, files)) };
  const port = await portOf(device, files);
  if (bus === "pci") {
    const [vendor, product] = [await pciId(device, "vendor", files), await pciId(device, "device", files)];
    return { bus, vendor, product, ...part, port };
  }
  const compatible = await compatibleOf(device, files);
  if (kind !== "video4linux") return { bus, compatible, ...part, port };
  // A test driver of the kernel (vivid) is a platform device, too, but no firmware names it.
  if (compatible === undefined && (await linkOf(device, "firmware_node", files)) === undefined) return null;
  const name = (await attribute(folder, "name", files))?.replace(I2C_PLACE, "");
  return { bus, compatible, ...part, name, sensor: await sensorOf(device, files), port };
}

/** The nearest device on a bus of hardware. */
async function busDevice(folder: string, files: Files) {
  for (const device of upwards(folder)) {
    const bus = await subsystemOf(device, files);
    if (bus !== undefined && BUSES.has(bus)) return { bus, device };
  }
  return undefined;
}

/** Which part of its device a node or interface is. */
async function partOf(folder: string, kind: string | undefined, hardware: string, isUsb: boolean, files: Files) {
  switch (kind) {
    case "video4linux":
      return { index: await numberOf(folder, "index", files) };
    case "net": {
      // Drivers give the channel in one of them, and newer ones in both.
      const [id, port] = [await numberOf(folder, "dev_id", files), await numberOf(folder, "dev_port", files)];
      return { channel: Math.max(id, port) };
    }
    case "tty": {
      if (!isUsb) return { channel: await placeAmongPorts(folder, hardware, files) };
      // Between the node and its interface is a usb-serial device, unless the adapter is a modem (CDC ACM).
      const serial = dirname(dirname(folder));
      return serial === hardware ? {} : { channel: await numberOf(serial, "port_number", files) };
    }
    default:
      return {};
  }
}

/** The place of a serial port among those of its chip or card. Since Linux 6.5 each of them is in a folder of its own. */
async function placeAmongPorts(folder: string, hardware: string, files: Files): Promise<number> {
  const ports: string[] = [];
  for (const name of await namesIn("/sys/class/tty", files)) {
    const port = await linkOf("/sys/class/tty", name, files);
    if (port?.startsWith(`${hardware}/`) === true) ports.push(port);
  }
  return Math.max(0, ports.indexOf(folder));
}

/** @param folder of the USB device, or of one of its interfaces. */
async function usbFacts(folder: string, files: Files): Promise<Omit<Facts, "bus">> {
  const interfaceNumber = await attribute(folder, "bInterfaceNumber", files);
  const device = interfaceNumber === undefined ? folder : dirname(folder);
  return {
    vendor: await requiredAttribute(device, "idVendor", files),
    product: await requiredAttribute(device, "idProduct", files),
    serial: await attribute(device, "serial", files),
    interface: interfaceNumber === undefined ? undefined : Number.parseInt(interfaceNumber, 16),
    port: await usbPortOf(device, files),
  };
}

async function pciId(device: string, name: string, files: Files): Promise<string> {
  return (await requiredAttribute(device, name, files)).replace(/^0x/, "");
}

/** The most specific of the names that the device tree gives a chip; undefined without a device tree. */
async function compatibleOf(device: string, files: Files): Promise<string | undefined> {
  return (await attribute(`${device}/of_node`, "compatible", files))?.split("\0")[0];
}

/**
 * The sensor whose pictures a camera interface receives. The device tree joins the two by a pair of `endpoint` nodes: one names the other by
 * its number (Documentation/devicetree/bindings/media/video-interfaces.yaml of the kernel).
 */
async function sensorOf(receiver: string, files: Files): Promise<string | undefined> {
  const wanted = await attributeBytes(`${receiver}/of_node/port/endpoint`, "remote-endpoint", files);
  if (wanted === undefined) return undefined;
  const chips = "/sys/bus/i2c/devices";
  for (const chip of (await namesIn(chips, files)).slice(0, CHIP_LIMIT)) {
    const number = await attributeBytes(`${chips}/${chip}/of_node/port/endpoint`, "phandle", files);
    if (number !== undefined && Buffer.compare(number, wanted) === 0) return compatibleOf(`${chips}/${chip}`, files);
  }
  return undefined;
}
