import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

import * as z from "zod";

import { SQLITE_FILE } from "../../../../src/service/kernel/store/sqlite/store.ts";
import type { Dice } from "../../dice.ts";

/**
 * The disk under the database of the service. SQLite works on real files; what a disk does to them is done between two of its calls:
 *
 * - A power cut replaces the files by what was synced, and by what chance leaves of the rest. SQLite recovers from that by itself.
 * - A disk that lies says that it synced: what it was told since is lost like anything that was not.
 * - A full disk is SQLite's own limit of pages, or a commit that fails as it does when the log cannot grow.
 *
 * What is synced follows from what SQLite documents for its journal and `pragma synchronous`, not from its system calls. What it moved from
 * its log to the database file counts as durable at once: a disk that lies about that destroys the database, and no service can help it.
 */
export interface ServiceDisk extends Disposable {
  readonly folder: string;
  /** Connection of the invariant checks; it survives power cuts. */
  readonly watcher: Watcher;
  trouble: DiskTrouble;
  /** From now on it says that it synced, and does not. */
  lie(nowMs: number): void;
  /** It writes down everything that it said it had. */
  makeTrue(): void;
  /** Has a connection of the service suffer whatever the disk does. */
  attach(connection: DatabaseSync, role: "reader" | "writer"): void;
  /** A connection is asked for something. @throws what SQLite says of a disk that fails. */
  beforeQuery(): void;
  /** Commits the transaction of a connection; the disk takes its time. */
  commit(connections: Connections, pause: () => Promise<void>, commit: () => Promise<void>): Promise<void>;
  /** Closes all connections, and leaves in the files what a power cut leaves. */
  powerCut(dice: Dice): PowerCut;
  /** The files as they are, to be put back later. */
  backUp(): Backup;
  /** Closes all connections and puts the files back. */
  restore(backup: Backup): void;
}

/** May be one and the same. */
export interface Connections {
  /** In its transaction is what is to be committed. */
  readonly running: DatabaseSync;
  /** How it syncs is how durable that is. */
  readonly committing: DatabaseSync;
}

export type DiskTrouble =
  | "none"
  /** SQLite finds no page for another row, in the middle of a transaction. */
  | "no page left"
  /** No commit succeeds. */
  | "the log cannot grow"
  /** It cannot be synced, and now and then not be read. */
  | "input and output fail";

export interface PowerCut {
  /** There was something that was not synced, and it is not there as it was written. */
  readonly hasTorn: boolean;
  /** Since when what was acknowledged may be lost, because the disk lied; null where nothing is. */
  readonly lostSince_ms: number | null;
}

export interface Backup {
  readonly file: Buffer;
  readonly log: Buffer;
}

export interface Watcher {
  /** The same as long as nothing is committed. */
  version(): string;
  prepare(sql: string): Watch;
}

export interface Watch {
  all(...parameters: SQLInputValue[]): unknown[];
  get(...parameters: SQLInputValue[]): unknown;
}

/** A file system in memory, where there is one: thousands of worlds are no work for a disk. */
const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const NOTHING = Buffer.alloc(0);
/** Another one begins with another header: SQLite starts its log over when all of it is in the database file. */
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
  /** In simulated time; null where it does not. */
  let liesSince_ms: number | null = null;
  /** The transaction whose commit is under way. */
  let underWay: DatabaseSync | null = null;
  /** The log as far as it is synced. */
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

  /** The connections are closed, and nothing is left of them. */
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

  /** What of the log was not synced, and so depends on chance. */
  function unsyncedFrom(log: Buffer): number {
    const isSameLog = synced.bytes === 0 || log.subarray(0, LOG_HEADER_BYTES).equals(synced.header);
    return isSameLog ? Math.min(synced.bytes, log.byteLength) : log.byteLength;
  }

  function limitPages(connection: DatabaseSync): void {
    // No limit is less than what there is.
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
      // SQLite writes in one go; a commit that the power cut meets is one whose bytes are there, and not synced.
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

/** What is left of a log after a power cut. @returns `log` itself where all of it is. */
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
