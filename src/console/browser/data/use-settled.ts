import { useEffect, useRef, useState } from "preact/hooks";

import type { Data } from "./use-data.ts";

const PATIENCE_MS = 1000;

/**
 * Whether all of these are answered or failed, so that they can be shown at once: parts that come one by one move each other under
 * the hand of the person. Whatever is not there after a second is not waited for.
 */
export function useSettled(parts: readonly Data<unknown>[]): boolean {
  const [isLate, setLate] = useState(false);
  const wasSettled = useRef(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  wasSettled.current ||= isLate || parts.every(({ state }) => state !== "loading");
  return wasSettled.current;
}
