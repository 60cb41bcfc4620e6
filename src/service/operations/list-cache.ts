import type { Answer, AnyAnswer, LongAnswer } from "../http/answers.ts";
import type { Store } from "../store/store.ts";

/** Lists that are kept, all together. Further ones push the others out. */
export const KEPT_BYTES_MAXIMUM = 16 * 1024 * 1024;

/** Lists in the bytes that go out, for as long as the store has not changed. */
export interface ListCache {
  /** The list of an organization: the one that is kept, or else what `read` makes, as the store is now or was later. */
  answer(organization_id: string, read: () => Promise<Answer | LongAnswer>): Promise<AnyAnswer>;
}

/**
 * Keeps lists until anything at all is committed, by whichever replica: every request asks the store for its version, so none
 * is answered with a list that misses what was acknowledged before it.
 *
 * Robots change rarely and are looked at often; a list that is kept costs a tenth of one that is read, and one copy of it serves
 * every client that is slow to take it.
 */
export function createListCache({ version }: Pick<Store, "version">): ListCache {
  const lists = new Map<string, Uint8Array>();
  /** Reads of `kept_version` that are under way: requests that come meanwhile share them. */
  const reading = new Map<string, Promise<AnyAnswer>>();
  let kept_version = "";
  let kept_bytes = 0;

  function clear(): void {
    lists.clear();
    kept_bytes = 0;
  }

  function keep(organization_id: string, bytes: Uint8Array): void {
    if (bytes.byteLength > KEPT_BYTES_MAXIMUM) return;
    if (kept_bytes + bytes.byteLength > KEPT_BYTES_MAXIMUM) clear();
    kept_bytes += bytes.byteLength;
    lists.set(organization_id, bytes);
  }

  async function readAndKeep(
    organization_id: string,
    read_version: string,
    read: () => Promise<Answer | LongAnswer>,
  ): Promise<AnyAnswer> {
    try {
      const answer = await read();
      if ("parts" in answer) return answer;
      const bytes = Buffer.from(answer.json);
      if (read_version === kept_version) keep(organization_id, bytes);
      return { status: answer.status, bytes };
    } finally {
      if (read_version === kept_version) reading.delete(organization_id);
    }
  }

  return {
    async answer(organization_id, read) {
      // Before the list is read: what is committed in between is in it at worst too early.
      const now = await version();
      if (now !== kept_version) {
        clear();
        reading.clear();
        kept_version = now;
      }
      const kept = lists.get(organization_id);
      if (kept !== undefined) return { status: 200, bytes: kept };
      const begun = reading.get(organization_id);
      if (begun === undefined) {
        const answer = readAndKeep(organization_id, now, read);
        reading.set(organization_id, answer);
        return answer;
      }
      const answer = await begun;
      // The parts of a long list can be taken only once.
      return "parts" in answer ? read() : answer;
    },
  };
}
