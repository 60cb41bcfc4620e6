import { TypeID } from "typeid-js";

import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";

/** What an id names; the reader of a log sees it at once. */
export type IdPrefix =
  | "aud"
  | "dep"
  | "fleet"
  | "gen"
  | "key"
  | "login"
  | "org"
  | "prep"
  | "ref"
  | "rob"
  | "ses"
  | "use";

/** Makes ids that sort as they were made: `rob_01jz…`, a UUIDv7 in the alphabet of TypeID. */
export type NewId = (prefix: IdPrefix) => string;

/** Within one millisecond, and while the wall clock runs behind itself, a 12-bit counter keeps the order (RFC 9562, 6.2, method 1). */
const COUNTER_MAXIMUM = 0xfff;
/** A clock that goes back by more was wrong before: ids follow it, or lists and pages would go by that time until it has come. */
const SETBACK_MAXIMUM_MS = 60_000;

export function createIds(clock: Clock, random: Random): NewId {
  let last_ms = 0;
  let counter = 0;
  return (prefix) => {
    const now_ms = clock.wall_ms();
    if (now_ms > last_ms || last_ms - now_ms > SETBACK_MAXIMUM_MS) {
      last_ms = now_ms;
      counter = 0;
    } else if (counter === COUNTER_MAXIMUM) {
      last_ms += 1;
      counter = 0;
    } else {
      counter += 1;
    }
    return TypeID.fromUUIDBytes(prefix, uuidV7(last_ms, counter, random.bytes(8))).toString();
  };
}

/** Ids of this kind that were made later, by clocks that agree, sort behind this one. */
export function firstIdAt(prefix: IdPrefix, at_ms: number): string {
  return TypeID.fromUUIDBytes(prefix, uuidV7(Math.max(0, at_ms), 0, new Uint8Array(8))).toString();
}

function uuidV7(time_ms: number, counter: number, entropy: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(time_ms / 0x10000));
  view.setUint16(4, time_ms % 0x10000);
  view.setUint16(6, 0x7000 | counter);
  bytes.set(entropy.subarray(0, 8), 8);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  return bytes;
}
