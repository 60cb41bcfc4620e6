/** Reads what the kernel writes below /sys: small files, and links whose last name says what kind of thing a device is. */
import { basename, dirname, resolve } from "node:path";

import { readBounded } from "../platform/files/durable-file.ts";
import { errorCode, type Files } from "../platform/files/files.ts";

/** What the kernel gives of an attribute at most, except of binary ones. */
const ATTRIBUTE_LIMIT_BYTES = 4096;

/**
 * The text of an attribute without white space at both ends; undefined if there is no such attribute, or it is empty.
 *
 * @throws system errors, EFBIG for more than 4 KiB.
 */
export async function attribute(folder: string, name: string, files: Files): Promise<string | undefined> {
  const bytes = await attributeBytes(folder, name, files);
  const text = bytes === undefined ? "" : decoded(bytes).trim();
  return text === "" ? undefined : text;
}

/** As `attribute`, for one that each device of its kind has. */
export async function requiredAttribute(folder: string, name: string, files: Files): Promise<string> {
  const text = await attribute(folder, name, files);
  if (text === undefined) throw systemError("ENOENT", `${folder}/${name}`);
  return text;
}

/** As `attribute`, for a number that is 0 where it is missing. Hexadecimal ones begin with `0x`. */
export async function numberOf(folder: string, name: string, files: Files): Promise<number> {
  const number = Number((await attribute(folder, name, files)) ?? 0);
  return Number.isSafeInteger(number) ? number : 0;
}

/** The bytes of an attribute; undefined if there is no such attribute. */
export async function attributeBytes(folder: string, name: string, files: Files): Promise<Uint8Array | undefined> {
  const path = `${folder}/${name}`;
  const bytes = await unlessMissing(readBounded(files, path, ATTRIBUTE_LIMIT_BYTES));
  if (bytes === "too-large") throw systemError("EFBIG", path);
  return bytes;
}

/** Where a link of a device leads, such as `of_node`; undefined if there is no such link. */
export async function linkOf(folder: string, name: string, files: Files): Promise<string | undefined> {
  const target = await unlessMissing(files.readLink(`${folder}/${name}`));
  return target === undefined ? undefined : resolve(folder, target);
}

/** The kernel's name of the bus or class of a device; undefined for a folder that is no device. */
export async function subsystemOf(folder: string, files: Files): Promise<string | undefined> {
  const link = await linkOf(folder, "subsystem", files);
  return link === undefined ? undefined : basename(link);
}

/** The folder and those above it, up to `/sys/devices`. */
export function* upwards(folder: string): Generator<string> {
  for (let each = folder; dirname(each) !== "/sys/devices" && each !== "/"; each = dirname(each)) yield each;
}

/** Names in a folder, at most 4096, sorted as people count; none if it is missing. */
export async function namesIn(folder: string, files: Files): Promise<readonly string[]> {
  const names = (await unlessMissing(files.list(folder))) ?? [];
  return names.toSorted(NUMERIC.compare).slice(0, NAME_LIMIT);
}

const NAME_LIMIT = 4096;
const NUMERIC = new Intl.Collator("en", { numeric: true });

async function unlessMissing<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Descriptors of cheap devices hold any bytes. What is not UTF-8 is taken byte for byte, so that two different texts stay different. */
function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return Buffer.from(bytes).toString("latin1");
  }
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code, path });
}
