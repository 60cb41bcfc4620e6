/** From a path or a name to what the hardware is. */
import { resolve } from "node:path";

import { components, errorCode, type Files, type FileStat } from "../platform/files/files.ts";
import { readFacts } from "./facts.ts";
import type { Absent, Hardware, HardwareRequest } from "./hardware.ts";

/** Where the kernel describes the hardware that a request leads to. */
export interface Place {
  readonly kind: "place";
  /** Folder of the node or interface, below /sys/devices, without links. */
  readonly folder: string;
  /** Another one when the request leads to other hardware, or to the same plugged in again. Writing to a device does not change it. */
  readonly stamp: string;
}

/** How deep the kernel nests devices: a camera behind five hubs, the most that USB allows, is at 20. */
const DEPTH_LIMIT = 64;
const DEVICES = "/sys/devices/";
const INTERFACE_NAME = /^[^./][^/]*$/;

/** Finds out what the hardware is. It may take for ever where the system hangs; `memory.ts` does not. */
export async function identify(request: HardwareRequest, files: Files): Promise<Hardware> {
  const place = await locate(request, files);
  return place.kind === "place" ? identifyPlace(request, place, files) : place;
}

/** As `identify`, once the place is known. */
export async function identifyPlace(request: HardwareRequest, place: Place, files: Files): Promise<Hardware> {
  try {
    const facts = await readFacts(place.folder, files);
    // Attributes disappear one by one while a device is unplugged, and what was read then may lack some.
    const after = await locate(request, files);
    if (after.kind !== "place") return after;
    if (after.stamp !== place.stamp) return { kind: "failed", code: "ENODEV", path: place.folder };
    return facts === null ? { kind: "no-hardware" } : { kind: "present", facts, folder: place.folder };
  } catch (error) {
    return failure(error, place.folder);
  }
}

/** Follows a request to the kernel's description, with three system calls. */
export async function locate(request: HardwareRequest, files: Files): Promise<Place | Absent> {
  const path = "device" in request ? request.device : `/sys/class/net/${request.interface}`;
  try {
    if ("device" in request) return await locateDevice(path, files);
    if (!INTERFACE_NAME.test(request.interface)) return { kind: "failed", code: "ENODEV", path };
    return await placeAt(path, request.interface, files);
  } catch (error) {
    return failure(error, path);
  }
}

/**
 * Whether a request leads where it led before. A system call less than `locate`: as long as a folder is the same, so are the numbers of its
 * node, or the name of its interface.
 */
export async function isStillAt(request: HardwareRequest, { folder, stamp }: Place, files: Files): Promise<boolean> {
  try {
    const name = "device" in request ? nameOf(await files.stat(request.device)) : request.interface;
    return stampOf(name, folder, await files.stat(folder)) === stamp;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return false;
  }
}

async function locateDevice(path: string, files: Files): Promise<Place | Absent> {
  const node = await files.stat(path);
  if (node.deviceNode === undefined) return { kind: "not-a-device" };
  const entry = `/sys/dev/${node.deviceNode}`;
  try {
    return await placeAt(entry, nameOf(node), files);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    // The kernel makes the entry before the node, and removes it after that. A node without one is a pseudo terminal, or was made by hand.
    await files.stat(path);
    return { kind: "no-hardware" };
  }
}

/** @param link leads to the folder of a device. */
async function placeAt(link: string, name: string, files: Files): Promise<Place | Absent> {
  const folder = resolve(link, "..", await files.readLink(link));
  if (!folder.startsWith(DEVICES) || components(folder).length > DEPTH_LIMIT) return { kind: "no-hardware" };
  return { kind: "place", folder, stamp: stampOf(name, folder, await files.stat(folder)) };
}

function nameOf({ device, inode, deviceNode = "" }: FileStat): string {
  return `${device}:${inode}:${deviceNode}`;
}

/** The folder has another inode after each time that the device is plugged in, also in a container whose /dev stays as it is. */
function stampOf(name: string, folder: string, { inode }: FileStat): string {
  return `${name} ${folder}:${inode}`;
}

/** @param path where it was, if the error does not say. */
function failure(error: unknown, path: string): Extract<Absent, { readonly kind: "failed" }> {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const said = error instanceof Error && "path" in error && typeof error.path === "string" ? error.path : path;
  return { kind: "failed", code, path: said };
}
