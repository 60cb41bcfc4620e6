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
  /** An empty database of PostgreSQL, or one to start on again; SQLite in the data directory, when not given. */
  readonly store?: StoreLocation | undefined;
  /** A directory to start on again; one of its own, removed in the end, when not given. */
  readonly dataDirectory?: string;
  /** 0 takes any free port. */
  readonly port?: number;
  readonly limits?: Partial<ServiceLimits>;
  /** The rest of what a service is told. */
  readonly configuration?: Partial<ServiceConfiguration>;
  readonly clock?: Clock;
}

/** One request as the service logged it. */
export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** The real service, in this process, on a port of its own, over a store in a temporary folder. */
export interface RunningService extends AsyncDisposable {
  readonly url: string;
  /** An API key that may do everything. */
  readonly key: string;
  /** Holds the key file, and everything else on SQLite. */
  readonly dataDirectory: string;
  readonly key_file: string;
  /** Every request answered so far, oldest first. */
  readonly requests: readonly LoggedRequest[];
  /** Everything logged so far, to look for what must not be there. */
  log(): string;
  /** What `GET /v1/robots` answers. */
  robots(): Promise<IdentifiedRobotView[]>;
  /** One request with the key; `body` is sent as JSON. */
  send(method: string, path: string, body?: unknown): Promise<Response>;
  /** As after SIGHUP. */
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

/** Makes another key, with all scopes unless some are given. */
export async function createKey(
  { send }: Pick<RunningService, "send">,
  label: string,
  scopes?: readonly string[],
): Promise<z.output<typeof apiKeyCreatedSchema>> {
  const made = await send("POST", "/v1/me/api-keys", { label, ...(scopes === undefined ? {} : { scopes }) });
  return apiKeyCreatedSchema.parse(await made.json());
}

/** As a backup from before the robots was put back. What else the service knows of them stays, for rows that nothing looks at. */
export async function forgetRobots({ dataDirectory }: Pick<RunningService, "dataDirectory">): Promise<void> {
  using database = new DatabaseSync(join(dataDirectory, SQLITE_FILE), { enableForeignKeyConstraints: false });
  await beginWriting(database);
  database.exec("DELETE FROM robots; COMMIT");
}

/** Begins a transaction beside a service in this thread. While that writes, to wait in SQLite would be to wait for ever. */
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
