import { useEffect, useState } from "preact/hooks";

import type { Known, Topic } from "./cache.ts";
import { known, reload, watch } from "./cache.ts";
import type { Problem } from "./request.ts";

/** Where an answer stands. `ready` with a problem: shown is what was known before it. */
export type Data<T> =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly problem: Problem; retry(): void }
  | { readonly state: "ready"; readonly value: T; readonly problem: Problem | null };

/**
 * What the service says at an address, as long as the component is there, and again whenever one of its topics changed.
 *
 * @param path null asks nothing (and is loading).
 */
export function useData<T>(path: string | null, topics: readonly Topic[]): Data<T> {
  const [, renderAgain] = useState(0);
  const rendered = path === null ? null : known(path, topics);
  useEffect(() => {
    if (path === null) return undefined;
    const update = () => renderAgain((count) => count + 1);
    const stop = watch(path, topics, update);
    // Another part of the page may have been answered between the rendering and this effect.
    if (known(path, topics) !== rendered) update();
    return stop;
    // Topics are written out where this is called and never change.
  }, [path]);
  if (path === null) return { state: "loading" };
  return readData(path, topics);
}

function readData<T>(path: string, topics: readonly Topic[]): Data<T> {
  const { value, problem }: Known<unknown> = known(path, topics);
  if (isKnown<T>(value)) return { state: "ready", value, problem };
  if (problem !== null) return { state: "failed", problem, retry: () => reload(path) };
  return { state: "loading" };
}

/** The caller names the type of what the service answers at its path (src/api). */
function isKnown<T>(value: unknown): value is T {
  return value !== undefined;
}
