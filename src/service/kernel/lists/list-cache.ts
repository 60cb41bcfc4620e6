import type { Clock } from "../../../platform/clock.ts";
import type { AnyAnswer, Answer, LongAnswer } from "../http/answers.ts";
import type { Store } from "../store/store.ts";

/** Cached lists, each of at most about `PART_CHARACTERS`. */
export const KEPT_LISTS = 16;

/** Caches encoded lists until the store changes. */
export interface ListCache {
  /**
   * The list of an organization, from the cache or from `read`; never older than this call.
   *
   * @param validUntilMs asked once `read` is done: until when its list is true without a commit, by the wall clock.
   */
  answer(
    organizationId: string,
    read: () => Promise<Answer | LongAnswer>,
    validUntilMs?: () => number,
  ): Promise<AnyAnswer>;
}

/**
 * Caches lists until any replica commits anything. Every request compares the version of the store, so an answer contains all changes
 * acknowledged before the request. Requests that arrive while a list is read share it.
 *
 * Without it the service answers 115 lists of 1,000 robots a second, with it 7,400: the budget is 20 times a service that answers 50 to 110.
 */
export function createListCache({ version }: Pick<Store, "version">, clock: Pick<Clock, "wallMs">): ListCache {
  let keptVersion = "";
  /** Lists read at `keptVersion`. */
  let lists = new Map<string, Kept>();

  return {
    async answer(organizationId, read, validUntilMs = () => Number.POSITIVE_INFINITY) {
      // Read the version before the list: a commit in between then only makes the cache entry outdated too early.
      const now = await version();
      if (now !== keptVersion) lists = new Map();
      keptVersion = now;
      const shared = lists.get(organizationId);
      if (shared === undefined) return begin(lists, organizationId, read, validUntilMs);
      const answer = await shared.reading;
      if (clock.wallMs() > shared.validUntilMs()) {
        if (lists.get(organizationId) === shared) lists.delete(organizationId);
        return this.answer(organizationId, read, validUntilMs);
      }
      // The parts of a long list can be read only once.
      return "parts" in answer ? read() : answer;
    },
  };
}

interface Kept {
  readonly reading: Promise<AnyAnswer>;
  readonly validUntilMs: () => number;
}

/** Reads a list, and caches it if it is short. */
function begin(
  lists: Map<string, Kept>,
  organizationId: string,
  read: () => Promise<Answer | LongAnswer>,
  validUntilMs: () => number,
): Promise<AnyAnswer> {
  const reading = readBytes(read);
  if (lists.size >= KEPT_LISTS) lists.clear();
  lists.set(organizationId, { reading, validUntilMs });
  void reading.then(
    (answer) => "parts" in answer && lists.delete(organizationId),
    () => lists.delete(organizationId),
  );
  return reading;
}

async function readBytes(read: () => Promise<Answer | LongAnswer>): Promise<AnyAnswer> {
  const answer = await read();
  return "parts" in answer ? answer : { status: answer.status, bytes: Buffer.from(answer.json) };
}
