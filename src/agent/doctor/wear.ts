import type { Files } from "../../platform/files/files.ts";
import { readKernelValue } from "./kernel-value.ts";

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
