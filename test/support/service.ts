import { mkdtemp, mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";

import type { RobotView } from "../../src/api/robot-views.ts";
import { robotListSchema } from "../../src/api/robot-views.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { systemFiles } from "../../src/platform/files.ts";
import { systemRandom } from "../../src/platform/random.ts";
import type { HttpLimits } from "../../src/service/http/limits.ts";
import { createLog } from "../../src/service/log.ts";
import { createService } from "../../src/service/service.ts";
import type { ServiceConfiguration } from "../../src/service/service.ts";
import { SQLITE_FILE } from "../../src/service/store/sqlite-store.ts";
import type { StoreLocation } from "../../src/service/store/store.ts";
import { openStore } from "../../src/service/store/store.ts";
import { testMachine } from "./machine.ts";
import { memoryFolder } from "./memory.ts";

export interface ServiceOptions {
  /** An empty database of PostgreSQL, or one to start on again; SQLite in the data directory, when not given. */
  readonly store?: StoreLocation | undefined;
  /** A directory to start on again; one of its own, removed in the end, when not given. */
  readonly data_directory?: string;
  /** 0 takes any free port. */
  readonly port?: number;
  readonly limits?: Partial<HttpLimits>;
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
  readonly data_directory: string;
  readonly key_file: string;
  /** Every request answered so far, oldest first. */
  readonly requests: readonly LoggedRequest[];
  /** Everything logged so far, to look for what must not be there. */
  log(): string;
  /** What `GET /v1/robots` answers. */
  robots(): Promise<RobotView[]>;
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

/** A database with the tables of the service, and nothing in them. To make the tables takes half of the time of a start. */
let emptyStore: Promise<Uint8Array> | undefined;

async function makeEmptyStore(): Promise<Uint8Array> {
  await using folder = await mkdtempDisposable(join(memoryFolder, "policy-service-"));
  const store = await openStore({ kind: "sqlite", data_directory: folder.path }, testMachine);
  await store[Symbol.asyncDispose]();
  return await readFile(join(folder.path, SQLITE_FILE));
}

export async function startService(options: ServiceOptions = {}): Promise<RunningService> {
  const folder = options.data_directory ?? (await mkdtemp(join(memoryFolder, "policy-service-")));
  if (options.store === undefined && options.data_directory === undefined) {
    emptyStore ??= makeEmptyStore();
    await writeFile(join(folder, SQLITE_FILE), await emptyStore, { mode: 0o600 });
  }
  const key_file = join(folder, "bootstrap-key");
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
      store: options.store ?? { kind: "sqlite", data_directory: folder },
      listen: { host: "127.0.0.1", port: options.port ?? 0 },
      bootstrap_key_file: key_file,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...options.configuration,
    },
    { clock: options.clock ?? systemClock, files: systemFiles, random: systemRandom, log },
  );
  const started = await service.start();
  if (started.state === "failed") {
    await service[Symbol.asyncDispose]();
    throw new Error(`${started.problem.code}: ${started.problem.what} (${started.problem.where})`);
  }
  const { url } = started;
  const key = (await readFile(key_file, "utf8")).trim();
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
    key_file,
    data_directory: folder,
    requests,
    log: () => lines.join(""),
    send,
    reload: () => service.reload(),
    robots: async () => robotListSchema.parse(await (await send("GET", "/v1/robots")).json()),
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      if (options.data_directory === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}
