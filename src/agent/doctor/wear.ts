import { readBounded } from "../../platform/files/durable-file.ts";
import type { Files } from "../../platform/files/files.ts";

const BLOCK_DEVICES = "/sys/block";
/** JEDEC eMMC 5.0, DEVICE_LIFE_TIME_EST: 0x0A is 90 to 100 % used, 0x0B is exceeded. */
const NEARLY_WORN = 0x0a;

/** An eMMC (soldered in on most robot boards) that reports the end of its life; null when there is none. */
export async function findWornDisk(files: Files, folder: string = BLOCK_DEVICES): Promise<string | null> {
  const names = await files.list(folder).catch(() => []);
  for (const name of names.filter((each) => /^mmcblk\d+$/.test(each)).toSorted()) {
    const used = await readKernelValue(files, `${folder}/${name}/device/life_time`);
    const estimates = (used ?? "").split(/\s+/).map(Number);
    if (estimates.some((estimate) => estimate >= NEARLY_WORN)) return name;
  }
  return null;
}

const VALUE_LIMIT_BYTES = 64;

/** A value that the kernel shows as a file (proc(5), sysfs(5)); null where it does not, as in some containers. */
export async function readKernelValue(files: Files, path: string): Promise<string | null> {
  const bytes = await readBounded(files, path, VALUE_LIMIT_BYTES).catch(() => "too-large" as const);
  return bytes === "too-large" ? null : Buffer.from(bytes).toString("latin1").trim();
}
