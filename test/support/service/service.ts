import { rmSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import * as z from "zod";

import { apiKeyCreatedSchema } from "../../../src/api/keys.ts";
import { identifiedRobotListSchema, type IdentifiedRobotView } from "../../../src/api/robot-views.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files/files.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { createLog } from "../../../src/service/kernel/log.ts";
import { SQLITE_FILE } from "../../../src/service/kernel/store/sqlite/store.ts";
import type { StoreLocation } from "../../../src/service/kernel/store/store.ts";
import type { ServiceLimits } from "../../../src/service/limits.ts";
import { createService, type ServiceConfiguration } from "../../../src/service/service.ts";
import { eventually } from "../eventually.ts";
import { memoryFolder } from "../memory.ts";
import { newSqliteFolder } from "./sqlite-folder.ts";

export interface ServiceOptions {
  /** A PostgreSQL database, empty or from an earlier start; defaults to SQLite in the data directory. */
  readonly store?: StoreLocation | undefined;
  /** A data directory from an earlier start; defaults to a new one that is removed at the end. */
  readonly dataDirectory?: string;
  /** 0 selects a free port. */
  readonly port?: number;
  readonly limits?: Partial<ServiceLimits>;
  /** Other settings of the service. */
  readonly configuration?: Partial<ServiceConfiguration>;
  readonly clock?: Clock;
}

/** One request as logged by the service. */
export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** The real service in this process, on its own port, with a store in a temporary folder. */
export interface RunningService extends AsyncDisposable {
  readonly url: string;
  /** An API key with all scopes. */
  readonly key: string;
  /** Contains the key file and, on SQLite, everything else. */
  readonly dataDirectory: string;
  readonly key_file: string;
  /** Every answered request so far, oldest first. */
  readonly requests: readonly LoggedRequest[];
  /** Everything logged so far, for tests that something is not logged. */
  log(): string;
  /** The body of `GET /v1/robots`. */
  robots(): Promise<IdentifiedRobotView[]>;
  /** Sends one request with the key; `body` is sent as JSON. */
  send(method: string, path: string, body?: unknown): Promise<Response>;
  /** Same as SIGHUP. */
  reload(): Promise<void>;
}

const loggedRequestSchema = z.object({
  event: z.literal("request"),
  method: z.string(),
  path: z.string(),
  status: z.int(),
});

export async function startService(options: ServiceOptions = {}): Promise<RunningService> {
  const newFolder = () =>
    options.store === undefined ? newSqliteFolder("policy-service-") : mkdtemp(join(memoryFolder, "policy-service-"));
  const given = options.dataDirectory ?? (options.store?.kind === "sqlite" ? options.store.dataDirectory : undefined);
  const folder = given ?? (await newFolder());
  const keyFile = join(folder, "bootstrap-key");
  const lines: string[] = [];
  const requests: LoggedRequest[] = [];
  const log = createLog("debug", {
    write(line) {
      lines.push(line);
      const request = loggedRequestSchema.safeParse(JSON.parse(line));
      if (request.success) requests.push(request.data);
    },
  });
  const service = createService(
    {
      store: options.store ?? { kind: "sqlite", dataDirectory: folder },
      listen: { host: "127.0.0.1", port: options.port ?? 0 },
      bootstrapKeyFile: keyFile,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...options.configuration,
    },
    { clock: options.clock ?? systemClock, files: systemFiles, random: systemRandom, log },
  );
  const end = async () => {
    await service[Symbol.asyncDispose]();
    if (given === undefined) rmSync(folder, { recursive: true, force: true });
  };
  const started = await service.start();
  if (started.state === "failed") {
    await end();
    throw new Error(`${started.problem.code}: ${started.problem.what} (${started.problem.where})`);
  }
  const { url } = started;
  const key = (await readFile(keyFile, "utf8")).trim();
  const send = (method: string, path: string, body?: unknown) =>
    fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    url,
    key,
    key_file: keyFile,
    dataDirectory: folder,
    requests,
    log: () => lines.join(""),
    send,
    reload: () => service.reload(),
    robots: async () => identifiedRobotListSchema.parse(await (await send("GET", "/v1/robots")).json()),
    [Symbol.asyncDispose]: end,
  };
}

/** Creates another key; defaults to all scopes. */
export async function createKey(
  { send }: Pick<RunningService, "send">,
  label: string,
  scopes?: readonly string[],
): Promise<z.output<typeof apiKeyCreatedSchema>> {
  const made = await send("POST", "/v1/me/api-keys", { label, ...(scopes === undefined ? {} : { scopes }) });
  return apiKeyCreatedSchema.parse(await made.json());
}

/** Removes the robots, as if a backup from before them had been restored. Other rows about them stay, because nothing reads them. */
export async function forgetRobots({ dataDirectory }: Pick<RunningService, "dataDirectory">): Promise<void> {
  using database = new DatabaseSync(join(dataDirectory, SQLITE_FILE), { enableForeignKeyConstraints: false });
  await beginWriting(database);
  database.exec("DELETE FROM robots; COMMIT");
}

/** Opens a transaction next to a service in the same thread. While the service writes, a wait inside SQLite would block forever. */
export async function beginWriting(database: DatabaseSync): Promise<void> {
  const begin = async () => {
    try {
      database.exec("BEGIN IMMEDIATE");
      return true;
    } catch (error) {
      if (error instanceof Error && error.message === "database is locked") return undefined;
      throw error;
    }
  };
  await eventually(begin, "the lock of the database");
}
