import { useEffect, useState } from "preact/hooks";

import type { Topic } from "../../topics.ts";
import { type Known, known, reload, watch } from "./cache.ts";
import type { Problem } from "./request.ts";

/** The state of an answer. `ready` with a problem: the last refresh failed, and the value is older. */
export type Data<T> =
  | { readonly state: "loading"; readonly value?: undefined }
  | { readonly state: "failed"; readonly value?: undefined; readonly problem: Problem; retry(): void }
  | { readonly state: "ready"; readonly value: T; readonly problem: Problem | null };

/**
 * Fetches a URL while the component is mounted, and again whenever one of the topics changes.
 *
 * @param path null sends no request and stays `loading`.
 */
export function useData<T>(path: string | null, topics: readonly Topic[]): Data<T> {
  const [, renderAgain] = useState(0);
  const rendered: Known<unknown> | null = path === null ? null : known(path, topics);
  useEffect(() => {
    if (path === null) return undefined;
    const update = () => renderAgain((count) => count + 1);
    const stop = watch(path, topics, update);
    // The answer may have arrived between rendering and this effect.
    if (known(path, topics) !== rendered) update();
    return stop;
    // Topics are constant at each call site.
  }, [path]);
  if (path === null || rendered === null) return { state: "loading" };
  const { value, problem } = rendered;
  if (isKnown<T>(value)) return { state: "ready", value, problem };
  if (problem !== null) return { state: "failed", problem, retry: () => reload(path) };
  return { state: "loading" };
}

/** The caller names the type of the answer (src/api); see request.ts on validation. */
function isKnown<T>(value: unknown): value is T {
  return value !== undefined;
}
