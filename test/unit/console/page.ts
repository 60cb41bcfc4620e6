/** A stand-in for the browser around modules of the console: the test answers its requests and advances its clock. */
import { onTestFinished, vi } from "vitest";

import { forgetAll } from "../../../src/console/browser/data/query.ts";

/** A request of the page that is not answered yet. */
export interface PageRequest {
  readonly path: string;
  readonly signal: AbortSignal;
  answer(body: unknown, status?: number): Promise<void>;
  /** Fails like a network error. */
  fail(): Promise<void>;
}

export interface Page {
  /** All requests so far, oldest first. */
  readonly requests: readonly PageRequest[];
  /** Makes the page visible or hidden. */
  see(visibilityState: "visible" | "hidden"): void;
  pass(ms: number): Promise<void>;
  timers(): number;
}

/** Replaces the globals of the browser until the test ends. */
export function openPage(): Page {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  const requests: PageRequest[] = [];
  const document = Object.assign(new EventTarget(), { visibilityState: "visible" });

  vi.stubGlobal("document", document);
  vi.stubGlobal("fetch", (path: string, { signal }: { readonly signal: AbortSignal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    signal.addEventListener("abort", () => reject(signal.reason));
    requests.push({
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
    requests,
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

/** Response bodies are read over several turns of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
