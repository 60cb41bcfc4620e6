import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, it, onTestFinished } from "vitest";

import { systemRandom } from "../../../../src/platform/random.ts";
import type { StoreLocation } from "../../../../src/service/kernel/store/store.ts";
import { API_KEY_PREFIX, createToken } from "../../../../src/service/kernel/auth/token.ts";
import { bootstrapKey } from "../../../../src/service/keys/bootstrap.ts";
import { testFolder } from "../../../support/folder.ts";
import { openServiceParts } from "../../../support/service/service-parts.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";

const OWN_FILE = "name another file with --bootstrap-key-file, one that is not there yet to have a new key written";

async function open(location?: StoreLocation) {
  const parts = await openServiceParts(location);
  onTestFinished(() => parts[Symbol.asyncDispose]());
  const path = join(testFolder("bootstrap"), "key");
  const { newId, machine } = parts.context;
  const keys = async () => {
    const rows = await parts.store.reader.selectFrom("api_keys").selectAll().where("label", "=", "bootstrap").execute();
    return rows.map(({ key_last4: last4, scopes }) => ({ last4, scopes }));
  };
  return { path, keys, bootstrap: () => bootstrapKey(path, parts.store, newId, machine) };
}

const KEY = createToken(API_KEY_PREFIX, systemRandom);

describeOnEachStore("bootstrapKey", (newStore) => {
  it("replicas that start together with the same key file → one adopts it, both start", async () => {
    const { path, keys, bootstrap } = await open(await newStore());
    await writeFile(path, KEY, { mode: 0o600 });
    expect(await Promise.all(Array.from({ length: 4 }, bootstrap))).toEqual([null, null, null, null]);
    expect(await keys()).toEqual([{ last4: KEY.slice(-4), scopes: null }]);
  });
});

describe("bootstrapKey", () => {
  it("no file → a new unrestricted key, in a private file; again → the same key", async () => {
    const { path, keys, bootstrap } = await open();
    expect(await bootstrap()).toBeNull();
    const text = await readFile(path, "utf8");
    expect(text).toMatch(/^sk_rps_[0-9A-Za-z]{28}\n$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await bootstrap()).toBeNull();
    expect(await readFile(path, "utf8")).toBe(text);
    expect(await keys()).toEqual([{ last4: text.trim().slice(-4), scopes: null }]);
  });

  it("file with a key and white space, 4096 bytes → adopted", async () => {
    const { path, keys, bootstrap } = await open();
    await writeFile(path, KEY.padEnd(4096), { mode: 0o600 });
    expect(await bootstrap()).toBeNull();
    expect(await keys()).toEqual([{ last4: KEY.slice(-4), scopes: null }]);
  });

  it.each([
    ["a larger file", KEY.padEnd(4097), /is no key file/, OWN_FILE],
    ["a file with something else", "some notes\n", /is no key file/, OWN_FILE],
    ["an empty file", "", /is empty/, "remove it to have a new key written there, or put back the key it held"],
  ])("%s → refused, not changed, no key added", async (_what, text, what, fix) => {
    const { path, keys, bootstrap } = await open();
    await writeFile(path, text, { mode: 0o600 });
    expect(await bootstrap()).toMatchObject({
      code: "bootstrap-key-invalid",
      what: expect.stringMatching(what),
      where: path,
      fix,
    });
    expect(await readFile(path, "utf8")).toBe(text);
    expect(await keys()).toEqual([]);
  });

  it("a directory in its place → refused", async () => {
    const { path, bootstrap } = await open();
    await mkdir(path);
    expect(await bootstrap()).toMatchObject({ code: "bootstrap-key-file-unusable", where: path });
  });
});
