/** Whether the page shows current data. */
import { createStore } from "../store.ts";

/**
 * `connecting`: the service answers, but no events arrive yet. `waiting`: the service does not answer. `offline`: this computer has no
 * network.
 */
export type Liveness = "connecting" | "live" | "waiting" | "offline";

export const liveness = createStore<Liveness>("connecting");

/** When the service last answered or sent an event, in milliseconds since the epoch by its own clock. */
export const lastAnswerMs = createStore(0);

/** Whether the service cannot be reached: the page then shows old data. */
export function isUnreachable(): boolean {
  const state = liveness.get();
  return state === "waiting" || state === "offline";
}
