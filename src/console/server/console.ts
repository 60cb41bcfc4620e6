/**
 * The console: a web page for operators, served by the service itself.
 *
 * scripts/build.ts bundles the page in ../browser into a few files; built-console.ts and serve-files.ts serve them. The page uses the
 * /v1 operations like any other client. Its credential is a session in an HttpOnly cookie (sessions.ts, kernel/http/arrival.ts).
 * events.ts tells it when to fetch again.
 */
import type { FastifyInstance } from "fastify";

import type { MountContext } from "../../service/console-door.ts";
import { mountEvents } from "./events.ts";
import { mountLogins } from "./logins.ts";
import type { StreamLimits } from "./stream-limits.ts";
import type { ConsoleFiles } from "./serve-files.ts";
import { mountSessions } from "./sessions.ts";

export interface ConsoleOptions {
  readonly files: ConsoleFiles;
  readonly streams: StreamLimits;
  /** How long after its last heartbeat a robot is online. */
  readonly onlineWindowMs: number;
  /** Aborted when the service shuts down. */
  readonly stopping: AbortSignal;
}

export function mountConsole(
  app: FastifyInstance,
  context: MountContext,
  { files, streams, onlineWindowMs, stopping }: ConsoleOptions,
): void {
  files.mount(app);
  mountSessions(app, context);
  mountLogins(app, context);
  mountEvents(app, context, streams, onlineWindowMs, stopping);
}
