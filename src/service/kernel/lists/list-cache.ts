import type { AnyAnswer, Answer, LongAnswer } from "../http/answers.ts";
import type { Store } from "../store/store.ts";

/** Lists that are kept at a time, each of about `PART_CHARACTERS` at most. */
export const KEPT_LISTS = 16;

/** Lists in the bytes that go out, for as long as the store has not changed. */
export interface ListCache {
  /** The list of an organization: the one that is kept, or else what `read` makes, as the store is now or was later. */
  answer(organizationId: string, read: () => Promise<Answer | LongAnswer>): Promise<AnyAnswer>;
}

/**
 * Keeps lists until anything at all is committed, by whichever replica: every request asks the store for its version, so none
 * is answered with a list that misses what was acknowledged before it. Requests that come while a list is read share it.
 *
 * Without it the service answers 115 lists of 1,000 robots a second, with it 7,400: the budget is 20 times a service that answers 50 to 110.
 */
export function createListCache({ version }: Pick<Store, "version">): ListCache {
  let keptVersion = "";
  /** Of `keptVersion`. */
  let lists = new Map<string, Promise<AnyAnswer>>();

  return {
    async answer(organizationId, read) {
      // Before the list is read: what is committed in between is in it at worst too early.
      const now = await version();
      if (now !== keptVersion) lists = new Map();
      keptVersion = now;
      const shared = lists.get(organizationId);
      if (shared === undefined) return begin(lists, organizationId, read);
      const answer = await shared;
      // The parts of a long list can be taken only once.
      return "parts" in answer ? read() : answer;
    },
  };
}

/** Reads a list, and keeps it unless that fails or it is long. */
function begin(
  lists: Map<string, Promise<AnyAnswer>>,
  organizationId: string,
  read: () => Promise<Answer | LongAnswer>,
): Promise<AnyAnswer> {
  const reading = readBytes(read);
  if (lists.size >= KEPT_LISTS) lists.clear();
  lists.set(organizationId, reading);
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
