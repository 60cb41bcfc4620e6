import { useEffect, useRef, useState } from "preact/hooks";

import type { Data } from "./use-data.ts";

const PATIENCE_MS = 1000;

/**
 * Whether all of these have answered or failed, so that they appear together and do not shift the layout one by one. After a second
 * it stops waiting for the rest.
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
