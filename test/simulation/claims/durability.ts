import { hash } from "node:crypto";

import { PLACES } from "../machine/robot-files.ts";
import type { Witness, World } from "../world.ts";

export interface Durability extends Witness {
  /** Another program damaged the state: the current content is as good as any other. */
  forgive(): void;
}

/**
 * After a crash the state file holds the content from before or after a save, complete. After a save, no older content comes back unless
 * the disk lied. The claim uses the order of the agent's own disk requests, not the simulated disk's result.
 */
export function durability(world: World): Durability {
  /** Contents that a power cut may leave: the last complete save, and saves started after it. Null stands for no file. */
  let possible: (string | null)[] = [hashOfState()];

  function hashOfState(path: string = PLACES.registration): string | null {
    if (!world.disk.exists(path)) return null;
    return hash("sha256", world.disk.read(path));
  }

  return {
    onWrite(_incarnation, operation, path) {
      if (operation === "rename" && path === PLACES.registration) possible.push(hashOfState(`${path}.new`));
      if (operation === "rename" && path === `${PLACES.registration}.damaged`) possible.push(null);
      if (operation === "sync-directory" && path === PLACES.state_directory) possible = possible.slice(-1);
    },
    onPowerCut() {
      const found = hashOfState();
      if (!possible.includes(found) && !world.disk_trouble.lies) {
        const size = found === null ? "gone" : `${world.disk.read(PLACES.registration).byteLength} bytes`;
        world.fail(`after a power cut the state is neither old nor new (${size})`);
      }
      possible = [found];
    },
    forgive() {
      possible = [hashOfState()];
    },
  };
}
