import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { createIds } from "../../../src/service/kernel/ids.ts";
import { createLog } from "../../../src/service/kernel/log.ts";
import { openStore } from "../../../src/service/kernel/store/open-store.ts";
import type { Store, StoreLocation } from "../../../src/service/kernel/store/store.ts";
import { makeKey } from "../../../src/service/keys/keys.ts";

/** A second connection to the store of a running service, as administration commands use it. */
export interface Backstage extends AsyncDisposable {
  readonly store: Store;
  /** Creates an organization and resolves with a key with all scopes. */
  organization(): Promise<string>;
  /** Creates several at once, with empty audit logs. */
  organizations(count: number): Promise<readonly string[]>;
}

export async function openBackstage(location: StoreLocation): Promise<Backstage> {
  const log = createLog("silent", { write() {} });
  const store = await openStore(location, { clock: systemClock, files: systemFiles, random: systemRandom, log });
  const newId = createIds(systemClock, systemRandom);

  async function organizations(count: number): Promise<readonly string[]> {
    const createdAt = new Date().toISOString();
    const made = Array.from({ length: count }, () => {
      const organizationId = newId("org");
      const wish = { organization_id: organizationId, label: "test", scopes: null, expires_at: null };
      return makeKey(wish, newId("key"), createdAt, systemRandom);
    });
    const rows = made.map(({ row: { organization_id: id } }) => ({ id, name: id, created_at: createdAt }));
    await store.write(async (transaction) => {
      await transaction.insertInto("organizations").values(rows).execute();
      await transaction
        .insertInto("api_keys")
        .values(made.map(({ row }) => row))
        .execute();
    });
    return made.map(({ key }) => key);
  }

  return {
    store,
    organizations,
    async organization() {
      const [key = ""] = await organizations(1);
      return key;
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
