import { hash } from "node:crypto";

import { PLACES } from "../machine/robot-files.ts";
import type { Witness, World } from "../world.ts";

export interface Durability extends Witness {
  /** Somebody else damaged the state on purpose; what is there now is as good as anything. */
  forgive(): void;
}

/**
 * After any crash the state file is what it was before a save, or what it is after, whole; and once a save is complete, nothing
 * older comes back, unless the disk lied. Rests on the order of the agent's own requests to the disk, not on what the disk made of them.
 */
export function durability(world: World): Durability {
  /** Contents that may be found after a power cut: the last complete save, and those begun after it. Null for no file. */
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
