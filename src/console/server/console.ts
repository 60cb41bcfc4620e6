/**
 * The console: a web page for operators, served by the service itself.
 *
 * scripts/build.ts bundles the page in ../browser into a few files; files.ts serves them. The page uses the
 * /v1 operations like any other client. Its credential is a session in an HttpOnly cookie (sessions.ts, kernel/http/arrival.ts).
 * versions.ts tells it what to fetch again.
 */
import type { FastifyInstance } from "fastify";

import type { MountContext } from "../../service/console-door.ts";
import { mountLogins } from "./logins.ts";
import type { ConsoleFiles } from "./files.ts";
import { mountSessions } from "./sessions.ts";
import { mountVersions } from "./versions.ts";

export interface ConsoleOptions {
  readonly files: ConsoleFiles;
  /** How long after its last heartbeat a robot is online. */
  readonly onlineWindowMs: number;
}

export function mountConsole(
  app: FastifyInstance,
  context: MountContext,
  { files, onlineWindowMs }: ConsoleOptions,
): void {
  files.mount(app);
  mountSessions(app, context);
  mountLogins(app, context);
  mountVersions(app, context, onlineWindowMs);
}
