import { mkdtemp, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { openStore } from "../../../src/service/kernel/store/open-store.ts";
import { SQLITE_FILE } from "../../../src/service/kernel/store/sqlite/store.ts";
import { memoryFolder } from "../memory.ts";
import { testMachine } from "../robot/machine.ts";

/** A folder with an SQLite store that has empty tables. Creating the tables takes half of a start. */
export async function newSqliteFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(memoryFolder, prefix));
  emptyStore ??= makeEmptyStore();
  await writeFile(join(folder, SQLITE_FILE), await emptyStore, { mode: 0o600 });
  return folder;
}

let emptyStore: Promise<Uint8Array> | undefined;

async function makeEmptyStore(): Promise<Uint8Array> {
  await using folder = await mkdtempDisposable(join(memoryFolder, "policy-service-"));
  const store = await openStore({ kind: "sqlite", dataDirectory: folder.path }, testMachine);
  await store[Symbol.asyncDispose]();
  return await readFile(join(folder.path, SQLITE_FILE));
}
