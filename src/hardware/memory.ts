/** Identifies hardware again and again. A repeated look costs two system calls, and no look blocks for long. */
import { type Clock, within } from "../platform/clock.ts";
import type { Files } from "../platform/files/files.ts";
import type { Hardware, HardwareRequest } from "./hardware.ts";
import { identifyPlace, isStillAt, locate, type Place } from "./identify.ts";

/** How long a look may take. It takes 2 ms where nothing hangs. */
const LIMIT_MS = 1000;
/** When attributes are read again although the place is the same. */
const KNOWN_MS = 60_000;
/** How many requests are remembered. A manifest has 64 at most. */
const ENTRY_LIMIT = 256;
/** How many looks may hang. Each keeps one of the four threads with which Node reads files. */
const HUNG_LIMIT = 2;

interface Entry {
  /** A look that has not ended. While it hangs no other one starts, so that it does not take one thread of Node after the other. */
  isRunning: boolean;
  known: { readonly place: Place; readonly atMs: number; readonly hardware: Hardware } | null;
}

export type HardwareMemory = ReturnType<typeof createHardwareMemory>;

export function createHardwareMemory({ files, clock }: { readonly files: Files; readonly clock: Clock }) {
  const entries = new Map<string, Entry>();
  /** Looks that have not ended. One begins when the one before has ended or hangs. */
  let running = 0;
  let last: Promise<unknown> = Promise.resolve();

  function entryOf(request: HardwareRequest): Entry {
    const key = JSON.stringify(request);
    const entry = entries.get(key) ?? { isRunning: false, known: null };
    if (entries.size >= ENTRY_LIMIT) entries.clear();
    entries.set(key, entry);
    return entry;
  }

  async function lookUp(request: HardwareRequest, entry: Entry): Promise<Hardware> {
    entry.isRunning = true;
    running += 1;
    try {
      const { known } = entry;
      const atMs = clock.monotonicMs();
      const isRecent = known !== null && atMs - known.atMs < KNOWN_MS;
      if (isRecent && (await isStillAt(request, known.place, files))) return known.hardware;
      const place = await locate(request, files);
      if (place.kind !== "place") return place;
      const hardware = await identifyPlace(request, place, files);
      // What failed may succeed a moment later.
      entry.known = hardware.kind === "failed" ? null : { place, atMs, hardware };
      return hardware;
    } finally {
      entry.isRunning = false;
      running -= 1;
    }
  }

  async function identify(request: HardwareRequest, signal?: AbortSignal): Promise<Hardware> {
    const entry = entryOf(request);
    if (entry.isRunning || running >= HUNG_LIMIT) return { kind: "timed-out" };
    return (await within(lookUp(request, entry), LIMIT_MS, clock, signal)) ?? { kind: "timed-out" };
  }

  return {
    /** What the hardware is now. @throws the signal's reason. */
    identify(request: HardwareRequest, signal?: AbortSignal): Promise<Hardware> {
      const looked = last.then(() => identify(request, signal));
      last = looked.catch(() => {});
      return looked;
    },
  };
}
