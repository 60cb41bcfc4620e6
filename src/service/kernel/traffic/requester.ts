import { AsyncLocalStorage } from "node:async_hooks";

/** Starts to measure work; it ends with `Symbol.dispose`. */
export type BeginWork = () => Disposable;

/** Whom the queries and the work of a call count for. */
interface Requester {
  /** An organization's id, or an address; empty for the service's own tasks. */
  readonly id: string;
  readonly beginWork: BeginWork;
}

const requesters = new AsyncLocalStorage<Requester>();
const UNMEASURED: BeginWork = () => ({ [Symbol.dispose]() {} });
const SERVICE_ITSELF: Requester = { id: "", beginWork: UNMEASURED };

/** Runs `work`; all its queries count for `requester`, an organization's id or an address, and its work for `beginWork`. */
export function runForRequester<T>(requester: string, work: () => Promise<T>, beginWork = UNMEASURED): Promise<T> {
  return requesters.run({ id: requester, beginWork }, work);
}

/** Runs what several requesters share, so that it counts for none of them. */
export function runForNobody<T>(work: () => Promise<T>): Promise<T> {
  return requesters.run(SERVICE_ITSELF, work);
}

/** `work`, which counts for the current requester whenever it is called. */
export const bindRequester: <F extends (...parameters: never[]) => unknown>(work: F) => F = AsyncLocalStorage.bind;

export function currentRequester(): Requester {
  return requesters.getStore() ?? SERVICE_ITSELF;
}

/** Runs `work` and counts its time for the current requester. */
export function measureWork<T>(work: () => T): T {
  using _measured = currentRequester().beginWork();
  return work();
}
