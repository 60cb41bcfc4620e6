import type { Random } from "../../platform/random.ts";
import type { Backoff } from "../../platform/retry.ts";
import { createBackoff } from "../../platform/retry.ts";
import type { Later, RefusedState } from "./answers.ts";

const MINUTE_MS = 60_000;
/** A person has to act; this retry notices that it was done at the service. */
const PERSON_RETRY_MS = 5 * MINUTE_MS;
const REFUSED_RETRY_MS: Readonly<Record<RefusedState, number>> = {
  unenrolled: 60 * MINUTE_MS,
  frozen: PERSON_RETRY_MS,
  lapsed: PERSON_RETRY_MS,
};
const FIRST_RETRY_MS = 2000;
const SLOWEST_RETRY_MS = 2 * MINUTE_MS;
/** Random share of a period, so that robots that were refused together do not ask together. */
const SPREAD = 0.2;

/** How long to wait until a request is repeated. */
export interface Pace {
  after(later: Later): number;
  afterRefusal(state: RefusedState): number;
  /** The service answered: the next delay is a first one again. */
  reset(): void;
}

export function createPace(random: Random): Pace {
  const backoff: Backoff = createBackoff({ firstMs: FIRST_RETRY_MS, capMs: SLOWEST_RETRY_MS, random });
  const spread = (periodMs: number) => periodMs * (1 + SPREAD * (random.unit() - 0.5));
  return {
    after: ({ isPassing, retryAfterMs }) => (isPassing ? backoff.nextMs(retryAfterMs) : spread(PERSON_RETRY_MS)),
    afterRefusal: (state) => spread(REFUSED_RETRY_MS[state]),
    reset: () => backoff.reset(),
  };
}
