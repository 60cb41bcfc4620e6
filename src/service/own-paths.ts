import type { FastifyInstance } from "fastify";

import type { Clock } from "../platform/clock.ts";
import { createFresh } from "./kernel/coalesce.ts";
import { answerJson, refuse, refuseUnavailable } from "./kernel/http/answers.ts";
import type { MountContext } from "./kernel/http/mount.ts";
import { send } from "./kernel/http/send.ts";
import type { Metrics } from "./kernel/metrics.ts";
import { openApiDocument } from "./openapi/openapi.ts";

/** How long a successful check of the store is cached, because anyone may request /readyz. */
const READY_FRESH_MS = 1000;
/** How long /metrics is cached: rendering it takes longer than most requests. */
const METRICS_FRESH_MS = 200;

/** The second is the name by which technicians of existing robots look for it. */
const HEALTH_PATHS = ["/healthz", "/health"] as const;

/** /healthz: the process answers. /readyz: the service can handle requests. */
export function mountHealth(
  app: FastifyInstance,
  { store, machine }: Pick<MountContext, "store" | "machine">,
  stopping: AbortSignal,
): void {
  const reachStore = createFresh(() => store.probe(), READY_FRESH_MS, machine.clock);
  for (const path of HEALTH_PATHS) app.get(path, (_request, reply) => send(reply, answerJson('{"status":"ok"}')));
  app.get("/readyz", async (_request, reply) => {
    if (stopping.aborted) return send(reply, refuseUnavailable("The service is stopping"));
    await reachStore();
    return send(reply, answerJson('{"status":"ready"}'));
  });
}

/** /metrics for Prometheus, unless they are null, and /openapi.json for developers of clients. */
export function mountDescription(app: FastifyInstance, metrics: Metrics | null, clock: Clock): void {
  if (metrics === null) app.get("/metrics", (_request, reply) => send(reply, refuse("NotFound", "Not Found")));
  else {
    const render = createFresh(() => metrics.render(), METRICS_FRESH_MS, clock);
    app.get("/metrics", async (_request, reply) =>
      reply.header("content-type", metrics.contentType).send(await render()),
    );
  }
  app.get("/openapi.json", (request, reply) => {
    const document = openApiDocument();
    void reply.header("etag", document.etag).header("cache-control", "no-cache");
    if (request.headers["if-none-match"] === document.etag) return reply.code(304).send();
    return send(reply, { status: 200, bytes: document.bytes });
  });
}
