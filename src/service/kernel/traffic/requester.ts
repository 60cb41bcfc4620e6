import { AsyncLocalStorage } from "node:async_hooks";

const requesters = new AsyncLocalStorage<string>();
const SERVICE_ITSELF = "";

/** Runs `work`; all its queries count for `requester`: an organization's id, or an address. */
export function runForRequester<T>(requester: string, work: () => Promise<T>): Promise<T> {
  return requesters.run(requester, work);
}

/** Whom the queries of the current call count for; empty for the service's own tasks. */
export function currentRequester(): string {
  return requesters.getStore() ?? SERVICE_ITSELF;
}
