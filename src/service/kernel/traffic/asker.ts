import { AsyncLocalStorage } from "node:async_hooks";

const askers = new AsyncLocalStorage<string>();
const NOBODY = "";

/** Does `work`, all of whose queries count as those of `whose`. */
export function onBehalfOf<T>(whose: string, work: () => Promise<T>): Promise<T> {
  return askers.run(whose, work);
}

/** For whom a query is; what the service does on its own is for nobody. */
export function currentAsker(): string {
  return askers.getStore() ?? NOBODY;
}
