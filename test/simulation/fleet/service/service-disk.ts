import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

import * as z from "zod";

import { SQLITE_FILE } from "../../../../src/service/kernel/store/sqlite/store.ts";
import type { Dice } from "../../dice.ts";

/**
 * The disk of the service's database. SQLite works on real files; the simulated disk changes them between two calls:
 *
 * - A power cut leaves the synced content and a random part of the rest. SQLite recovers from that.
 * - A lying disk claims to have synced. What was written since is treated like any unsynced data.
 * - A full disk is SQLite's own page limit, or a commit that fails because the log cannot grow.
 *
 * What is synced follows from SQLite's documentation of its journal and `pragma synchronous`, not from its system calls. What SQLite moves
 * from its log to the database file counts as durable at once: a disk that lies about that destroys the database, which no service can
 * prevent.
 */
export interface ServiceDisk extends Disposable {
  readonly folder: string;
  /** Connection of the invariant checks; it survives power cuts. */
  readonly watcher: Watcher;
  trouble: DiskTrouble;
  /** From now on the disk claims to sync, and does not. */
  lie(nowMs: number): void;
  /** Really writes everything that the disk claimed to have synced. */
  makeTrue(): void;
  /** Applies the disk's faults to a connection of the service. */
  attach(connection: DatabaseSync, role: "reader" | "writer"): void;
  /** Called for each query of a connection. @throws SQLite's error for a failing disk. */
  beforeQuery(): void;
  /** Commits the transaction of a connection, with the disk's delay. */
  commit(connections: Connections, pause: () => Promise<void>, commit: () => Promise<void>): Promise<void>;
  /** Closes all connections and leaves the files as a power cut does. */
  powerCut(dice: Dice): PowerCut;
  /** A copy of the files, for a later restore. */
  backUp(): Backup;
  /** Closes all connections and restores the files. */
  restore(backup: Backup): void;
}

/** Both may be the same connection. */
export interface Connections {
  /** Has the transaction to commit. */
  readonly running: DatabaseSync;
  /** Its `synchronous` setting determines the durability. */
  readonly committing: DatabaseSync;
}

export type DiskTrouble =
  | "none"
  /** SQLite finds no page for another row in the middle of a transaction. */
  | "no page left"
  /** Every commit fails. */
  | "the log cannot grow"
  /** Syncs fail, and sometimes reads do. */
  | "input and output fail";

export interface PowerCut {
  /** Whether unsynced data existed and was lost or damaged. */
  readonly hasTorn: boolean;
  /** Since when acknowledged data may be lost because the disk lied; null if none is. */
  readonly lostSince_ms: number | null;
}

export interface Backup {
  readonly file: Buffer;
  readonly log: Buffer;
}

export interface Watcher {
  /** Changes with each commit only. */
  version(): string;
  prepare(sql: string): Watch;
}

export interface Watch {
  all(...parameters: SQLInputValue[]): unknown[];
  get(...parameters: SQLInputValue[]): unknown;
}

/** In memory if possible, because thousands of worlds would wear and wait for a disk. */
const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const NOTHING = Buffer.alloc(0);
/** The header of a log. SQLite starts a log with a new header after moving all of it to the database file. */
const LOG_HEADER_BYTES = 32;
const SECTOR_BYTES = 512;
const PAGES_MAXIMUM = 0xffff_fffe;
const SYNCHRONOUS_FULL = 2;
const QUERIES_THAT_FAIL = 0.05;
const FULL = 13;
const IO_ERROR = 10;
const IO_ERROR_SYNC = IO_ERROR | (4 << 8);

export function createServiceDisk(bytes: Uint8Array, dice: Dice): ServiceDisk {
  const folder = mkdtempSync(join(FOLDER, "world-"));
  const path = join(folder, SQLITE_FILE);
  const paths = { log: `${path}-wal`, index: `${path}-shm` };
  const readers = new Set<DatabaseSync>();
  const writers = new Set<DatabaseSync>();
  let trouble: DiskTrouble = "none";
  /** In simulated time; null while the disk is honest. */
  let liesSince_ms: number | null = null;
  /** The transaction being committed. */
  let underWay: DatabaseSync | null = null;
  /** The synced part of the log. */
  let synced: { readonly header: Buffer; readonly bytes: number } = { header: NOTHING, bytes: 0 };
  writeFileSync(path, bytes);
  let watching = new DatabaseSync(path, { readOnly: true });
  let replacements = 0;

  function readLog(): Buffer {
    return existsSync(paths.log) ? readFileSync(paths.log) : NOTHING;
  }

  function closeAll(): void {
    for (const connection of [...readers, ...writers, watching]) if (connection.isOpen) connection.close();
    readers.clear();
    writers.clear();
    underWay = null;
  }

  /** Closes the connections and discards their state. */
  function replaceFiles({ file, log }: Backup): void {
    closeAll();
    rmSync(paths.index, { force: true });
    writeFileSync(path, file);
    writeFileSync(paths.log, log);
    watching = new DatabaseSync(path, { readOnly: true });
    replacements += 1;
    noteSynced(log);
  }

  function noteSynced(log: Buffer): void {
    synced = { header: log.subarray(0, LOG_HEADER_BYTES), bytes: log.byteLength };
  }

  function noteCommit(connection: DatabaseSync): void {
    if (liesSince_ms !== null || synchronousOf(connection) < SYNCHRONOUS_FULL) return;
    const { size } = statSync(paths.log);
    if (synced.bytes === 0 || size < synced.bytes) noteSynced(readLog());
    else synced = { ...synced, bytes: size };
  }

  /** The unsynced part of the log, whose survival is random. */
  function unsyncedFrom(log: Buffer): number {
    const isSameLog = synced.bytes === 0 || log.subarray(0, LOG_HEADER_BYTES).equals(synced.header);
    return isSameLog ? Math.min(synced.bytes, log.byteLength) : log.byteLength;
  }

  function limitPages(connection: DatabaseSync): void {
    // A limit below the current size has no effect.
    connection.exec(`pragma max_page_count = ${trouble === "no page left" ? 1 : PAGES_MAXIMUM}`);
  }

  function refuseCommit(): void {
    if (trouble === "the log cannot grow") throw sqliteError(FULL, "database or disk is full");
    if (trouble === "input and output fail") throw sqliteError(IO_ERROR_SYNC, "disk I/O error");
  }

  const watcher: Watcher = {
    prepare(sql) {
      let preparedIn = watching;
      let statement = watching.prepare(sql);
      const current = () => {
        if (preparedIn !== watching) {
          preparedIn = watching;
          statement = watching.prepare(sql);
        }
        return statement;
      };
      return {
        all: (...parameters) => current().all(...parameters),
        get: (...parameters) => current().get(...parameters),
      };
    },
    version: () => `${replacements} ${JSON.stringify(dataVersion.get())}`,
  };
  const dataVersion = watcher.prepare("pragma data_version");

  return {
    folder,
    watcher,
    get trouble() {
      return trouble;
    },
    set trouble(next) {
      trouble = next;
      for (const writer of writers) if (writer.isOpen) limitPages(writer);
    },
    lie(nowMs) {
      liesSince_ms ??= nowMs;
    },
    makeTrue() {
      if (liesSince_ms === null) return;
      liesSince_ms = null;
      noteSynced(readLog());
    },
    attach(connection, role) {
      (role === "reader" ? readers : writers).add(connection);
      if (role === "writer") limitPages(connection);
    },
    beforeQuery() {
      if (trouble === "input and output fail" && dice.chance(QUERIES_THAT_FAIL))
        throw sqliteError(IO_ERROR, "disk I/O error");
    },
    async commit(connections, pause, commit) {
      if (!writers.has(connections.running)) return commit();
      refuseCommit();
      underWay = connections.running;
      await pause();
      underWay = null;
      refuseCommit();
      await commit();
      noteCommit(connections.committing);
    },
    powerCut(chance) {
      // SQLite writes synchronously: at a power cut the bytes of a running commit are written but not synced.
      if (underWay?.isOpen === true && underWay.isTransaction && chance.chance(0.8)) underWay.exec("commit");
      const { file, log } = { file: readFileSync(path), log: readLog() };
      const from = unsyncedFrom(log);
      const left = tear(log, from, chance);
      const lostSince_ms = from < log.byteLength ? liesSince_ms : null;
      replaceFiles({ file, log: left });
      liesSince_ms = null;
      return { hasTorn: left !== log, lostSince_ms };
    },
    backUp: () => ({ file: readFileSync(path), log: readLog() }),
    restore(backup) {
      replaceFiles(backup);
      liesSince_ms = null;
    },
    [Symbol.dispose]() {
      closeAll();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The rest of a log after a power cut. @returns `log` itself if it is complete. */
function tear(log: Buffer, from: number, dice: Dice): Buffer {
  if (from === log.byteLength) return log;
  const fate = dice.pick(["kept", "gone", "cut", "some sectors"] as const);
  if (fate === "kept") return log;
  if (fate === "gone") return log.subarray(0, from);
  if (fate === "cut") return log.subarray(0, from + dice.below(log.byteLength - from));
  const torn = Buffer.from(log);
  for (let sector = from; sector < torn.byteLength; sector += SECTOR_BYTES)
    if (dice.chance(0.3)) torn.fill(0, sector, Math.min(sector + SECTOR_BYTES, torn.byteLength));
  return torn;
}

const synchronousRow = z.object({ synchronous: z.number() });

function synchronousOf(connection: DatabaseSync): number {
  return synchronousRow.parse(connection.prepare("pragma synchronous").get()).synchronous;
}

function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}
