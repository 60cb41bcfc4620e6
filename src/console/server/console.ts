/**
 * The console: a page for operators, served by the service itself.
 *
 * ../browser is the page, which scripts/build.ts makes into a few files; built-console.ts and serve-files.ts hand them out. The page asks
 * the /v1 operations like any other client, only that its credential is a session in a cookie that no script can read (sessions.ts,
 * kernel/http/arrival.ts). It hears from events.ts when to ask again.
 */
import type { FastifyInstance } from "fastify";

import type { Metrics, MountContext } from "../../service/console-door.ts";
import { mountEvents } from "./events.ts";
import { mountLogins } from "./logins.ts";
import type { PlaceLimits } from "./places.ts";
import type { ConsoleFiles } from "./serve-files.ts";
import { mountSessions } from "./sessions.ts";

export interface ConsoleOptions {
  readonly files: ConsoleFiles;
  readonly metrics: Metrics;
  readonly streams: PlaceLimits;
  /** Aborted when the service is to end. */
  readonly stopping: AbortSignal;
}

/** Serves the console. */
export function mountConsole(
  app: FastifyInstance,
  context: MountContext,
  { files, metrics, streams, stopping }: ConsoleOptions,
): void {
  files.mount(app);
  mountSessions(app, context, metrics);
  mountLogins(app, context);
  mountEvents(app, context, streams, stopping);
}
