/** @module-tag needs/night */
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { SQLITE_FILE } from "../../../../src/service/kernel/store/sqlite/store.ts";
import { createDice } from "../../dice.ts";
import { preparedDatabase } from "./prepared-database.ts";
import { createServiceDisk, type ServiceDisk } from "./service-disk.ts";

const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);
const ids = "select id from organizations where id like 'test%' order by id";

interface Writer {
  readonly database: DatabaseSync;
  add(id: string): Promise<void>;
}

/** A disk with a service database, and a connection that writes to it. */
function writerOn(disk: ServiceDisk): Writer {
  const database = new DatabaseSync(join(disk.folder, SQLITE_FILE));
  database.exec("pragma journal_mode = wal");
  database.exec("pragma synchronous = full");
  disk.attach(database, "writer");
  return {
    database,
    add(id) {
      database.exec("begin immediate");
      insert(database, id);
      return disk.commit(
        { running: database, committing: database },
        () => Promise.resolve(),
        async () => database.exec("commit"),
      );
    },
  };
}

function insert(database: DatabaseSync, id: string): void {
  database.prepare("insert into organizations (id, name, created_at) values (?, ?, '2026-01-01')").run(id, id);
}

async function diskOf(seed = 1): Promise<ServiceDisk> {
  return createServiceDisk((await preparedDatabase()).bytes, createDice(seed));
}

/** All results of a power cut, over many seeds. */
async function outcomes(prepare: (disk: ServiceDisk) => Promise<unknown>): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const seed of SEEDS) {
    using disk = await diskOf();
    await prepare(disk);
    disk.powerCut(createDice(seed));
    const rows = disk.watcher.prepare(ids).all();
    found.add(JSON.stringify(rows.flatMap((row) => Object.values(Object(row)))));
  }
  return [...found].toSorted();
}

describe("createServiceDisk", () => {
  it("powerCut: committed and synced → kept", async () => {
    expect(await outcomes(async (disk) => writerOn(disk).add("test 1"))).toEqual(['["test 1"]']);
  });

  it.each([
    ["on a disk that lies", (disk: ServiceDisk) => disk.lie(0)],
    ["that is not synced", (_: ServiceDisk, { database }: Writer) => database.exec("pragma synchronous = normal")],
  ])("powerCut: a commit %s may be gone", async (_what, spoil) => {
    const write = async (disk: ServiceDisk) => {
      const writer = writerOn(disk);
      await writer.add("test 1");
      spoil(disk, writer);
      await writer.add("test 2");
    };
    expect(await outcomes(write)).toEqual(['["test 1","test 2"]', '["test 1"]']);
  });

  it("powerCut: during a commit → all or nothing of it", async () => {
    const underWay = async (disk: ServiceDisk) => {
      const { database, add } = writerOn(disk);
      await add("test 1");
      database.exec("begin immediate");
      insert(database, "test 2");
      insert(database, "test 3");
      void disk.commit(
        { running: database, committing: database },
        () => new Promise(() => {}),
        () => Promise.resolve(),
      );
    };
    expect(await outcomes(underWay)).toEqual(['["test 1","test 2","test 3"]', '["test 1"]']);
  });

  it("restore: earlier snapshot → its content, old connections are closed", async () => {
    using disk = await diskOf();
    const { database, add } = writerOn(disk);
    const backup = disk.backUp();
    await add("test 1");
    disk.restore(backup);
    expect(database.isOpen).toBe(false);
    expect(disk.watcher.prepare(ids).all()).toEqual([]);
  });

  it("trouble: full disk → refuses rows that need a page, then commits, recovers afterwards", async () => {
    using disk = await diskOf();
    const { database, add } = writerOn(disk);
    disk.trouble = "no page left";
    let rows = 0;
    const fill = () => {
      for (const end = rows + 1000; rows < end;) insert(database, `test ${(rows += 1)} ${"x".repeat(200)}`);
    };
    expect(fill).toThrow("database or disk is full");
    disk.trouble = "the log cannot grow";
    await expect(add("test 1")).rejects.toThrow("database or disk is full");
    database.exec("rollback");
    disk.trouble = "none";
    await add("test 2");
    fill();
  });
});
