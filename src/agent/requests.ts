/** What people ask of a run, beside looking at everything. */
export interface Requested {
  /** Register, changed or not. */
  readonly forced: boolean;
  /** Ask the service whether it still has the registration. */
  readonly confirm: boolean;
  /** Forget the registration if its file was moved away. */
  readonly rebind: boolean;
}

/** The requests that one run answers. */
export interface RunRequests extends Requested {
  /** Every file is read again. */
  readonly rereadAll: boolean;
  /** The run is over: releases the callers. */
  answer(): void;
  /** The run has no result, because files are being written: the next run answers instead. */
  postpone(still: Pick<Requested, "forced">): void;
}

const NOTHING = { forced: false, confirm: false, rebind: false, rereadAll: false };

/** Requests of people between two runs. Those that arrive during a run are answered by the next one, which reads everything. */
export function createRequests() {
  let asked: Requested & { readonly rereadAll: boolean } = NOTHING;
  /** Callers of the next run. */
  let next: (() => void)[] = [];

  return {
    /** Has every file read again. Resolves after the run that answers; never when the agent stops before. */
    ask(what: Partial<Requested>) {
      asked = { ...asked, ...what, rereadAll: true };
      const { promise, resolve } = Promise.withResolvers<void>();
      next.push(resolve);
      return promise;
    },
    /** The same as `ask`, for callers that do not wait for the result. */
    askReread() {
      asked = { ...asked, rereadAll: true };
    },
    /** Takes what was asked so far. */
    take(): RunRequests {
      const [taken, answering] = [asked, next];
      asked = NOTHING;
      next = [];
      return {
        ...taken,
        answer() {
          for (const resolve of answering) resolve();
        },
        postpone({ forced }) {
          next = [...answering, ...next];
          asked = { ...asked, forced: asked.forced || forced, confirm: asked.confirm || taken.confirm };
        },
      };
    },
  };
}
