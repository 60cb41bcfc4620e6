/** A real PostgreSQL server for tests, from the binaries of the machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { chown, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { setTimeout } from "node:timers/promises";
import { delimiter, dirname, join } from "node:path";

import { Client } from "pg";

// Lets a worker that Vitest stops by a signal exit normally, so that "exit" handlers run.
import "../programs/children.ts";
import { freePort } from "./free-port.ts";

/** Where Debian installs the server programs, outside of PATH. */
const DEBIAN_FOLDER = "/usr/lib/postgresql";

/** Folder of `initdb` and `postgres`; null if PostgreSQL is not installed. */
export const POSTGRES_PROGRAMS = findPrograms();

/**
 * Whether PostgreSQL tests are skipped because it is missing. In CI they fail instead.
 *
 * Debian and Ubuntu: `apt-get install postgresql`.
 */
export const WITHOUT_POSTGRES = POSTGRES_PROGRAMS === null && (process.env["CI"] ?? "") === "";

/** A linguistic collation, as most databases use: queries that depend on byte order must request it. */
const LOCALE = ["--locale", "C.UTF-8", "--locale-provider", "icu", "--icu-locale", "en"];

export interface PostgresOptions {
  /** Sync commits to the disk. Not needed by tests that only kill processes. */
  readonly fsync?: boolean;
  /** Additional settings, in the syntax of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A database cluster on a loopback port. */
export interface Cluster {
  readonly port: number;
  /** The password in every URL, for tests that it does not leak. */
  readonly password: string;
  /** Creates an empty database cheaply and resolves with its URL. `options` are those of CREATE DATABASE. */
  createDatabase(options?: string): Promise<string>;
  /** Ends all connections to the databases and drops them. */
  dropDatabases(urls: readonly string[]): Promise<void>;
  /** A superuser connection to the database of `url`, independent of the service. */
  connect(url: string): Promise<Client>;
}

/** A cluster that a single test uses and may stop. Disposal removes it. */
export interface Postgres extends Cluster, AsyncDisposable {
  /** Regular shutdown: ends connections and writes everything to the disk. */
  stop(): Promise<void>;
  /** Kills every process at once, as in a power cut. */
  kill(): Promise<void>;
  /** After `stop` or `kill`; recovers the committed transactions. As a standby it is read-only until it is promoted. */
  start(role?: "primary" | "standby"): Promise<void>;
}

let shared: Promise<Cluster> | undefined;

/** The shared cluster of this worker's test files, because starting one takes longer than most tests. It ends with the worker. */
export function sharedPostgres(): Promise<Cluster> {
  shared ??= startPostgres();
  return shared;
}

export async function startPostgres({ fsync = false, settings = {} }: PostgresOptions = {}): Promise<Postgres> {
  if (POSTGRES_PROGRAMS === null) throw new Error("PostgreSQL is not installed: apt-get install postgresql");
  const programs = POSTGRES_PROGRAMS;
  const user = serverUser();
  const folder = await newFolder(fsync ? tmpdir() : (RUN_FOLDER ?? tmpdir()), user);
  const data = join(folder, "data");
  await initialize(data, programs, user);
  const port = await freePort();
  const flags = Object.entries({
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: folder,
    fsync: fsync ? "on" : "off",
    full_page_writes: fsync ? "on" : "off",
    max_connections: "200",
    // A client that disconnects before authentication leaves its server process behind, and DROP DATABASE waits for that.
    authentication_timeout: "5s",
    log_min_messages: "warning",
    ...settings,
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  let server: ChildProcess | null = null;
  let databases = 0;

  const urlOf = (database: string) => `postgres://robots:${PASSWORD}@127.0.0.1:${port}/${database}`;
  const connect = async (url: string) => {
    const client = new Client({ connectionString: url });
    // The connection ends with the server in tests that stop it.
    client.on("error", () => {});
    await client.connect();
    return client;
  };
  const start = async (role = "primary") => {
    if (role === "standby") await writeFile(join(data, "standby.signal"), "");
    const child = spawn(join(programs, "postgres"), ["-D", data, ...flags], {
      ...user,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    server = child;
    await ready(child);
  };
  const end = async (signal: (pid: number) => unknown) => {
    administrator = null;
    if (server?.pid === undefined) return;
    const ended = once(server, "exit");
    await Promise.all([signal(server.pid), ended]);
    server = null;
  };
  /** Stays open, because connecting takes longer than most statements. */
  let administrator: Client | null = null;
  const administer = async (statements: readonly string[]) => {
    const client = administrator ?? (await connect(urlOf("postgres")));
    administrator = client;
    for (const statement of statements) await client.query(statement);
  };
  /** Stops the server on process exit, for clusters that nothing disposes of. */
  const removeAtExit = () => {
    // SIGQUIT ends its processes and frees shared memory, which SIGKILL would leave behind.
    server?.kill("SIGQUIT");
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once("exit", removeAtExit);
  await start();
  return {
    port,
    password: PASSWORD,
    connect,
    start,
    async createDatabase(options = "") {
      databases += 1;
      const name = `test_${databases}`;
      // Without fsync, copying files is cheaper than logging their pages.
      await administer([`create database ${name} ${options}${fsync ? "" : " strategy file_copy"}`]);
      return urlOf(name);
    },
    dropDatabases: (urls) => administer(urls.map((url) => `drop database ${databaseOf(url)} with (force)`)),
    stop: () => end((pid) => process.kill(pid, "SIGINT")),
    kill: () => end(killFamily),
    async [Symbol.asyncDispose]() {
      process.off("exit", removeAtExit);
      await end((pid) => process.kill(pid, "SIGQUIT"));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const PASSWORD = "correct-horse-battery";
/** Folder of this run's clusters, in memory if there is enough. Undefined in scripts. */
const RUN_FOLDER = process.env["ROBOT_POLICY_TEST_CLUSTERS"];

/** Creates a data directory. Tests copy one that is initialized once per run, because initdb takes longer than most tests. */
async function initialize(data: string, programs: string, user: ServerUser | null): Promise<void> {
  if (RUN_FOLDER === undefined) return runInitdb(data, programs, user);
  const original = join(RUN_FOLDER, "initialized");
  if (!existsSync(original)) {
    const folder = await newFolder(RUN_FOLDER, user);
    await runInitdb(join(folder, "data"), programs, user);
    // Fails if another worker was faster; its copy is equivalent.
    await rename(folder, original).catch(() => rm(folder, { recursive: true }));
  }
  await runToEnd("cp", ["--archive", join(original, "data"), data], {});
}

async function runInitdb(data: string, programs: string, user: ServerUser | null): Promise<void> {
  const passwordFile = `${data}-password`;
  await writeFile(passwordFile, PASSWORD, { mode: 0o600 });
  if (user !== null) await chown(passwordFile, user.uid, user.gid);
  // MD5 is fast, while SCRAM takes milliseconds on both sides for each of hundreds of connections.
  const args = ["--pgdata", data, "--username", "robots", "--pwfile", passwordFile, "--auth", "md5"];
  const cwd = dirname(data);
  await runToEnd(join(programs, "initdb"), [...args, "--no-sync", "--encoding", "UTF8", ...LOCALE], { ...user, cwd });
}

export async function newFolder(parent: string, user: ServerUser | null): Promise<string> {
  const folder = await mkdtemp(join(parent, "postgres-"));
  if (user !== null) await chown(folder, user.uid, user.gid);
  return folder;
}

export function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

function findPrograms(): string | null {
  const versions = existsSync(DEBIAN_FOLDER)
    ? readdirSync(DEBIAN_FOLDER).toSorted((a, b) => Number(b) - Number(a))
    : [];
  const folders = [
    ...versions.map((version) => join(DEBIAN_FOLDER, version, "bin")),
    ...(process.env["PATH"] ?? "").split(delimiter),
  ];
  return folders.find((folder) => ["initdb", "postgres"].every((name) => existsSync(join(folder, name)))) ?? null;
}

interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root. Null when this process does not run as root. */
export function serverUser(): ServerUser | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ["postgres", "nobody"]) {
    const entry = readFileSync("/etc/passwd", "utf8").match(new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, "m"));
    if (entry !== null) return { uid: Number(entry[1]), gid: Number(entry[2]) };
  }
  throw new Error("PostgreSQL does not run as root, and there is neither a user postgres nor nobody");
}

async function runToEnd(program: string, args: readonly string[], options: object): Promise<void> {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${program} ended with ${String(code)}: ${output}`);
}

/** Resolves when the server accepts connections. */
function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (/ready to accept (read-only )?connections/.test(output)) resolve();
      output = output.slice(-4096);
    });
    child.once("close", () => reject(new Error(`PostgreSQL ended: ${output}`)));
  });
}

/** Kills all server processes. They have their own sessions, so no single signal reaches them all. Resolves when they are gone. */
async function killFamily(pid: number): Promise<void> {
  // A stopped server starts no further processes.
  process.kill(pid, "SIGSTOP");
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  const family = [...(children === "" ? [] : children.split(" ").map(Number)), pid];
  for (const each of family) killNow(each);
  // The server cannot restart while one of them holds its shared memory.
  while (family.some(isRunning)) await setTimeout(5);
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process ended before.
  }
}
