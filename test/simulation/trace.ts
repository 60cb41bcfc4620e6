/** The log of a run: a hash over everything, and the last lines. */
export interface Trace {
  /** @param isEvent whether it happened to the machine, as opposed to an action of a program. */
  note(nowMs: number, text: string, isEvent?: boolean): void;
  /** Eight hex digits over all lines so far; equal traces have equal hashes. */
  hash(): string;
  /** The last events, followed by the last lines of any kind, oldest first. */
  tail(): readonly string[];
}

const KEPT_LINES = 30;
const KEPT_EVENTS = 25;

export function createTrace(): Trace {
  const lines = createRing(KEPT_LINES);
  const events = createRing(KEPT_EVENTS);
  let hash = 0x811c9dc5;
  return {
    note(nowMs, text, isEvent = false) {
      lines.add(nowMs, text);
      if (isEvent) events.add(nowMs, text);
      // FNV-1a over the time in nanoseconds and the text.
      hash = Math.imul(hash ^ (Math.floor(nowMs * 1e6) >>> 0), 0x01000193);
      for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    },
    hash: () => (hash >>> 0).toString(16).padStart(8, "0"),
    tail: () => ["events of the machine:", ...events.list(), "last lines:", ...lines.list()],
  };
}

function createRing(size: number) {
  const times: number[] = [];
  const texts: string[] = [];
  let next = 0;
  return {
    add(nowMs: number, text: string) {
      times[next % size] = nowMs;
      texts[next % size] = text;
      next += 1;
    },
    list(): readonly string[] {
      const slots = Array.from(
        { length: Math.min(size, next) },
        (_, index) => (Math.max(0, next - size) + index) % size,
      );
      return slots.map((slot) => `${((times[slot] ?? 0) / 1000).toFixed(6).padStart(14)} s  ${texts[slot] ?? ""}`);
    },
  };
}
