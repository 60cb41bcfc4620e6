import type { Site } from "./site.ts";

/**
 * `memory` is quick, and keeps what was written when the power is cut. `journaled` is ext4 on a disk of its own, of which a power cut
 * leaves what had reached the disk by then.
 */
export type DiskKind = "memory" | "journaled";

/** The disk of a computer: layers that are not written to, and its own changes above them. */
export interface Disk {
  /** Where it is mounted in the site. */
  readonly root: string;
  /** What it holds beyond its layers. */
  readonly upper: string;
  /** Goes on with what had reached the disk, as after a power cut, where the kind of disk makes that a difference. */
  losePageCache(): Promise<void>;
  discard(): Promise<void>;
}

const SIZE = "3G";

/** @param folder in the site, for this disk alone. @param layers folders, the topmost first. */
export async function createDisk(site: Site, folder: string, layers: readonly string[], kind: DiskKind): Promise<Disk> {
  const root = `${folder}/root`;
  const upper = `${folder}/upper`;
  const image = `${folder}.img`;
  const script = (text: string) => site.run(["sh", "-ec", text]);
  // Left to itself it writes everything after five seconds, which a slow machine may take to cut the power.
  const mountOwn = `mount -o loop,commit=60 ${image} ${folder}`;
  const mountLayers = `mount -t overlay overlay -o 'lowerdir=${layers.join(":")},upperdir=${upper},workdir=${folder}/work' ${root}`;

  await script(`mkdir -p ${folder}`);
  if (kind === "journaled") await script(`truncate -s ${SIZE} ${image}; mkfs.ext4 -q ${image}; ${mountOwn}`);
  await script(`mkdir ${upper} ${folder}/work ${root}; ${mountLayers}`);
  return {
    root,
    upper,
    async losePageCache() {
      if (kind === "memory") return;
      // Copied before the kernel is asked to let go of it, and so to write the rest.
      await script(
        `cp --sparse=always ${image} ${image}.cut; umount ${root}; umount ${folder}; mv ${image}.cut ${image}`,
      );
      await script(`${mountOwn}; rm -rf ${folder}/work; mkdir ${folder}/work; ${mountLayers}`);
    },
    async discard() {
      await site.run(["sh", "-c", `umount ${root} ${folder}; rm -rf ${folder} ${image}`], { may_fail: true });
    },
  };
}
