import { TypeID } from "typeid-js";

import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";

/** Prefix of an id: the kind of resource, visible in logs. */
export type IdPrefix =
  | "aud"
  | "dep"
  | "evt"
  | "fleet"
  | "gen"
  | "key"
  | "login"
  | "org"
  | "prep"
  | "renr"
  | "rinst"
  | "rob"
  | "ses"
  | "use"
  | "wh"
  | "whd";

/** Creates ids that sort by creation time: `rob_01jz…`, a UUIDv7 encoded as TypeID. */
export type NewId = (prefix: IdPrefix) => string;

/** Within one millisecond, and while the wall clock is behind the last id, a 12-bit counter keeps the order (RFC 9562, 6.2, method 1). */
const COUNTER_MAXIMUM = 0xfff;
/** When the clock goes back by more than this, it was wrong before, and ids follow the corrected clock. */
const SETBACK_MAXIMUM_MS = 60_000;

export function createIds(clock: Clock, random: Random): NewId {
  let lastMs = 0;
  let counter = 0;
  return (prefix) => {
    const nowMs = clock.wallMs();
    if (nowMs > lastMs || lastMs - nowMs > SETBACK_MAXIMUM_MS) {
      lastMs = nowMs;
      counter = 0;
    } else if (counter === COUNTER_MAXIMUM) {
      lastMs += 1;
      counter = 0;
    } else {
      counter += 1;
    }
    return TypeID.fromUUIDBytes(prefix, uuidV7(lastMs, counter, random.bytes(8))).toString();
  };
}

/** Ids created later, by clocks that agree, sort after this one. */
export function firstIdAt(prefix: IdPrefix, atMs: number): string {
  return TypeID.fromUUIDBytes(prefix, uuidV7(Math.max(0, atMs), 0, new Uint8Array(8))).toString();
}

function uuidV7(timeMs: number, counter: number, entropy: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(timeMs / 0x10000));
  view.setUint16(4, timeMs % 0x10000);
  view.setUint16(6, 0x7000 | counter);
  bytes.set(entropy.subarray(0, 8), 8);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  return bytes;
}
