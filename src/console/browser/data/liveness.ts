/** Whether what the page shows is as it is now. */
import { createStore } from "../store.ts";

/**
 * `connecting`: the service answers, and its events do not come (yet). `waiting`: the service does not answer. `offline`: neither
 * can it, because this computer has no network.
 */
export type Liveness = "connecting" | "live" | "waiting" | "offline";

export const liveness = createStore<Liveness>("connecting");

/** When the service last gave a sign of life, in milliseconds since the epoch by its own clock. */
export const lastSignMs = createStore(0);

/** Whether the service is out of reach: the page then shows the past. */
export function isLost(): boolean {
  const state = liveness.get();
  return state === "waiting" || state === "offline";
}
