/** What modules of the console find in a browser, without one: a network that the test answers, and time that passes when it is told to. */
import { onTestFinished, vi } from "vitest";

import { forgetAll } from "../../../src/console/browser/data/cache.ts";

/** A request of the page that waits for its answer. */
export interface Asked {
  readonly path: string;
  readonly signal: AbortSignal;
  answer(body: unknown, status?: number): Promise<void>;
  /** Nobody is there. */
  fail(): Promise<void>;
}

export interface Page {
  /** Everything that was asked so far, oldest first. */
  readonly asked: readonly Asked[];
  /** Paths of the streams that are open. */
  streams(): readonly string[];
  /** Sends an event of the service on every stream that is open. */
  tell(event: string, data?: unknown): void;
  /** Seen or in the background. */
  see(visibilityState: "visible" | "hidden"): void;
  pass(ms: number): Promise<void>;
  /** How many timers run. */
  timers(): number;
}

/** Until the test ends. */
export function openPage(): Page {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  const asked: Asked[] = [];
  const window = new EventTarget();
  const document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  const streams = new Set<Stream>();

  class Stream extends EventTarget {
    readonly path: string;
    constructor(path: string) {
      super();
      this.path = path;
      streams.add(this);
    }
    close(): void {
      streams.delete(this);
    }
  }

  vi.stubGlobal("document", document);
  // Without locks every window has a stream of its own.
  vi.stubGlobal("navigator", { onLine: true });
  vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
  vi.stubGlobal("EventSource", Stream);
  vi.stubGlobal("fetch", (path: string, { signal }: { readonly signal: AbortSignal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    signal.addEventListener("abort", () => reject(signal.reason));
    asked.push({
      path,
      signal,
      answer(body, status = 200) {
        resolve(Response.json(body, { status }));
        return settle();
      },
      fail() {
        reject(new TypeError("Failed to fetch"));
        return settle();
      },
    });
    if (signal.aborted) reject(signal.reason);
    return promise;
  });
  onTestFinished(() => {
    forgetAll();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  return {
    asked,
    streams: () => [...streams].map(({ path }) => path),
    tell(event, data = {}) {
      for (const stream of streams) stream.dispatchEvent(new MessageEvent(event, { data: JSON.stringify(data) }));
    },
    see(visibilityState) {
      document.visibilityState = visibilityState;
      document.dispatchEvent(new Event("visibilitychange"));
    },
    async pass(ms) {
      await vi.advanceTimersByTimeAsync(ms);
      await settle();
    },
    timers: () => vi.getTimerCount(),
  };
}

/** Bodies are read over several turns of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
