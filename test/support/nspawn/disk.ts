import type { Site } from "./site.ts";

/**
 * `memory` is fast, and a power cut loses nothing. `journaled` is ext4 on a disk image, which after a power cut holds only what had
 * reached the disk.
 */
export type DiskKind = "memory" | "journaled";

/** The disk of a computer: read-only layers, and a writable layer above them. */
export interface Disk {
  /** Mount point in the site. */
  readonly root: string;
  /** The writable layer. */
  readonly upper: string;
  /**
   * Continues with what had reached the disk, as after a power cut. Does nothing for a disk in memory.
   *
   * @param last a shell command that runs immediately before, which leaves sync(2) of other programs little time to write what it wrote.
   */
  losePageCache(last?: string): Promise<void>;
  discard(): Promise<void>;
}

const SIZE = "3G";

/** @param folder in the site, exclusive to this disk. @param layers folders, the topmost first. */
export async function createDisk(site: Site, folder: string, layers: readonly string[], kind: DiskKind): Promise<Disk> {
  const root = `${folder}/root`;
  const upper = `${folder}/upper`;
  const image = `${folder}.img`;
  const script = (text: string) => site.run(["sh", "-ec", text]);
  // By default ext4 commits every five seconds, and a slow machine may take longer than that to cut the power.
  const mountOwn = `mount -o loop,commit=60 ${image} ${folder}`;
  const mountLayers = `mount -t overlay overlay -o 'lowerdir=${layers.join(":")},upperdir=${upper},workdir=${folder}/work' ${root}`;

  await script(`mkdir -p ${folder}`);
  if (kind === "journaled") await script(`truncate -s ${SIZE} ${image}; mkfs.ext4 -q ${image}; ${mountOwn}`);
  await script(`mkdir ${upper} ${folder}/work ${root}; ${mountLayers}`);
  return {
    root,
    upper,
    async losePageCache(last = ":") {
      if (kind === "memory") return;
      // Copied before unmounting, because that writes the unwritten rest.
      await script(
        `${last}; cp --sparse=always ${image} ${image}.cut; umount ${root}; umount ${folder}; mv ${image}.cut ${image}`,
      );
      await script(`${mountOwn}; rm -rf ${folder}/work; mkdir ${folder}/work; ${mountLayers}`);
    },
    async discard() {
      await site.run(["sh", "-c", `umount ${root} ${folder}; rm -rf ${folder} ${image}`], { may_fail: true });
    },
  };
}
