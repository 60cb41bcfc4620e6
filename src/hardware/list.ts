/** The cameras, serial adapters and CAN interfaces that are there, and how a manifest names each. */
import { resolve } from "node:path";

import { errorCode, type Files } from "../platform/files/files.ts";
import type { By, Facts, HardwareRequest } from "./hardware.ts";
import { identify } from "./identify.ts";
import { attribute, linkOf, namesIn, upwards } from "./sysfs.ts";
import { twinsOf } from "./twins.ts";

export interface Listed {
  /** A guess from the names that the device gives itself. */
  readonly role: string;
  /** In words: maker and product. */
  readonly what: string;
  /** The node, such as `/dev/video0`, or the name of the interface. Another one after a boot, perhaps. */
  readonly name: string;
  /** By the most stable path there is. */
  readonly request: HardwareRequest;
  readonly by: By;
  readonly facts: Facts;
  /** The firmware says that it does not come off this computer, as the camera in the lid of a laptop. */
  readonly isBuiltIn: boolean;
  /** Names of those with the same vendor, product and serial number, or none. */
  readonly twins: readonly string[];
  /** The entry of `configuration_files`. */
  readonly entry: string;
}

/** With the request by which it was found. */
type Candidate = Pick<Listed, "facts" | "isBuiltIn" | "request" | "role" | "what">;

/** How many names of a class are looked at. A computer has 64 consoles beside the devices. */
const NODE_LIMIT = 512;
/** Folders with links that udev makes, the most stable first: rules of the owner's own, by serial number, by port. */
const LINK_FOLDERS = ["/dev", "/dev/serial/by-id", "/dev/v4l/by-id", "/dev/serial/by-path", "/dev/v4l/by-path"];
/** `PF_CAN` (include/uapi/linux/if_arp.h of the kernel). */
const CAN_TYPE = "280";

/** Vendor and product of what drives servos: Robotis (and FT232H, as in U2D2), CH343 (as on Feetech's and Waveshare's boards). */
const SERVO_ADAPTER = /^(?:0403:6014|1a86:55d3|2f5d:.*)$/;
/** Video nodes of codecs and image processors that are built in, and nodes beside the picture. */
const NO_CAMERA = /codec|decod|encod|isp|jpeg|hevc|scaler|m2m|embedded|stats|config|pispbe/i;

/** The role of a node beside the one with the picture. */
export const METADATA = "metadata";

/** How long a list may take: 50 ms where nothing hangs. */
export const LIST_LIMIT_MS = 10_000;

/** Finds what is there. What cannot be read, or is unplugged meanwhile, is left out. */
export async function listHardware(files: Files, signal: AbortSignal): Promise<readonly Listed[]> {
  const found: Candidate[] = [];
  for (const folder of ["video4linux", "tty", "net"]) {
    for (const name of (await namesIn(`/sys/class/${folder}`, files)).slice(0, NODE_LIMIT)) {
      signal.throwIfAborted();
      const candidate = await candidateOf(folder, name, files);
      if (candidate !== null) found.push(candidate);
    }
  }
  const links = await linksToNodes(files);
  return found.map((each) => listed(each, found, links.get(nameOf(each)) ?? []));
}

async function candidateOf(folder: string, name: string, files: Files): Promise<Candidate | null> {
  if (folder === "video4linux" && !/^video\d+$/.test(name)) return null;
  const request = folder === "net" ? { interface: name } : { device: `/dev/${name}` };
  try {
    if (folder === "net" && (await attribute(`/sys/class/net/${name}`, "type", files)) !== CAN_TYPE) return null;
    const hardware = await identify(request, files);
    if (hardware.kind !== "present") return null;
    const { facts } = hardware;
    const { maker, product, card, isBuiltIn } = await wordsOf(hardware.folder, files);
    const role = roleOf(folder, facts, product ?? "", card ?? "");
    const what = product ?? card ?? facts.compatible ?? facts.port;
    const isMade = maker !== undefined && !what.startsWith(maker);
    return role === null ? null : { role, what: isMade ? `${maker} ${what}` : what, facts, isBuiltIn, request };
  } catch (error) {
    // A device of which the system says nothing is not proposed; an entry that names it has a finding.
    if (errorCode(error) === undefined) throw error;
    return null;
  }
}

/** What a device and its firmware say of it, and the name of a video node. */
async function wordsOf(folder: string, files: Files) {
  const card = await attribute(folder, "name", files);
  for (const each of upwards(folder)) {
    if ((await attribute(each, "idVendor", files)) === undefined) continue;
    const maker = await attribute(each, "manufacturer", files);
    const isBuiltIn = (await attribute(each, "removable", files)) === "fixed";
    return { maker, product: await attribute(each, "product", files), card, isBuiltIn };
  }
  return { maker: undefined, product: undefined, card, isBuiltIn: false };
}

/** What it is for; null for what configures no robot. */
function roleOf(folder: string, facts: Facts, product: string, card: string): string | null {
  const { vendor, product: model, bus, index = 0 } = facts;
  if (folder === "net") return "CAN interface";
  if (folder === "tty" && bus !== "usb") return "serial port";
  if (folder === "tty") return SERVO_ADAPTER.test(`${vendor}:${model}`) ? "servo adapter" : "serial adapter";
  if (bus !== "usb") return NO_CAMERA.test(card) ? null : "camera";
  // Each picture has a node, and one for its metadata after it (uvcvideo since Linux 4.16).
  if (index % 2 === 1) return METADATA;
  // Interface 0 of a RealSense has depth and infrared, a later one colour.
  const isRealsense = /realsense/i.test(product);
  if (isRealsense && facts.interface !== 0) return "colour camera";
  if (isRealsense ? index > 0 : /infrared|\bir\b/i.test(card)) return "infrared camera";
  if (isRealsense || /depth/i.test(card)) return "depth camera";
  return index === 0 ? "colour camera" : "camera, further stream";
}

function listed(candidate: Candidate, all: readonly Candidate[], links: readonly string[]): Listed {
  const { request } = candidate;
  const name = nameOf(candidate);
  const twins = twinsOf(candidate, all).map(nameOf);
  const by = twins.length > 0 ? "port" : "serial";
  const suffix = by === "port" ? ", by: port }" : " }";
  if ("interface" in request) return { ...candidate, name, by, twins, entry: `- { interface: ${name}${suffix}` };
  const isAmbiguous = all.some((other) => other !== candidate && linkName(other) === linkName(candidate));
  const device = links.find((link) => !(isAmbiguous && link.includes("/by-id/"))) ?? name;
  return { ...candidate, name, request: { device }, by, twins, entry: `- { device: ${yamlText(device)}${suffix}` };
}

function nameOf({ request }: Candidate): string {
  return "device" in request ? request.device : request.interface;
}

/** What udev makes the link by-id of. That of a camera lacks the interface, so that depth and colour of one camera compete for it. */
function linkName({ facts }: Candidate): string {
  const part = facts.index === undefined ? facts.interface : undefined;
  return JSON.stringify([facts.vendor, facts.product, facts.serial, facts.index, facts.channel, part]);
}

/** Links to each node, the most stable first. */
async function linksToNodes(files: Files): Promise<ReadonlyMap<string, readonly string[]>> {
  const links = new Map<string, string[]>();
  for (const folder of LINK_FOLDERS) {
    for (const name of await namesIn(folder, files)) {
      // EINVAL: no link.
      const node = await linkOf(folder, name, files).catch(() => undefined);
      if (node !== undefined) links.set(node, [...(links.get(node) ?? []), resolve(folder, name)]);
    }
  }
  return links;
}

function yamlText(path: string): string {
  return /^[\w/.:+@-]+$/.test(path) ? path : JSON.stringify(path);
}
