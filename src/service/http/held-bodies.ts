/** Counts the bodies that are being worked on: what is parsed of a body, and waits to be written, is a multiple of it. */
export interface HeldBodies {
  /** Whether a body of this size may be worked on now; if so, `release` it in the end. */
  hold(bytes: number): boolean;
  release(bytes: number): void;
}

/** Room for `maximum` bytes at a time, and for one body whatever its size. */
export function createHeldBodies(maximum: number): HeldBodies {
  let held = 0;
  return {
    hold(bytes) {
      if (held > 0 && held + bytes > maximum) return false;
      held += bytes;
      return true;
    },
    release(bytes) {
      held -= bytes;
    },
  };
}
