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
  let kept_version = "";
  let kept_bytes = 0;

  function clear(): void {
    lists.clear();
    kept_bytes = 0;
  }

  return {
    async answer(organization_id, read) {
      // Before the list is read: what is committed in between is in it at worst too early.
      const now = await version();
      if (now !== kept_version) {
        clear();
        kept_version = now;
      }
      const kept = lists.get(organization_id);
      if (kept !== undefined) return { status: 200, bytes: kept };
      const answer = await read();
      if ("parts" in answer) return answer;
      const bytes = Buffer.from(answer.json);
      if (now === kept_version && bytes.byteLength <= KEPT_BYTES_MAXIMUM) {
        if (kept_bytes + bytes.byteLength > KEPT_BYTES_MAXIMUM) clear();
        kept_bytes += bytes.byteLength - (lists.get(organization_id)?.byteLength ?? 0);
        lists.set(organization_id, bytes);
      }
      return { status: answer.status, bytes };
    },
  };
}
