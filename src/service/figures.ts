import { sql } from "kysely";

import { type Clock, isoTime } from "../platform/clock.ts";
import type { Files } from "../platform/files/files.ts";
import { countFleets } from "./fleets/report-states.ts";
import { createFresh } from "./kernel/coalesce.ts";
import type { Figure, Metrics } from "./kernel/metrics.ts";
import { lastBackupS } from "./kernel/store/backups/backup.ts";
import type { Reader } from "./kernel/store/store.ts";

/** How long figures are cached, because anyone may request the metrics; Prometheus does every few seconds. */
export const FIGURES_FRESH_MS = 5000;
/** The same of robots and fleets: counting 100,000 robots takes 70 ms of a thread, and a status of a fleet needs all of its members. */
export const ROBOTS_FRESH_MS = 30_000;
/** A figure takes at most a tenth of one thread, whatever it counts. */
const REST_RATIO = 10;

const NO_ROBOTS = { online: 0, not_ready: 0, offline: 0, frozen: 0, not_monitored: 0 } as const;

/** Metrics of the backups of a data directory. A PostgreSQL database is backed up by its own programs. */
export function addBackupFigure(metrics: Metrics, files: Files, dataDirectory: string): void {
  metrics.addFigure({
    name: "last_backup_timestamp_seconds",
    help: "When robot-policy-service backup last succeeded, in seconds since the Unix epoch; 0 if never. Not of PostgreSQL.",
    label: null,
    count: async () => [{ kind: "", count: await lastBackupS(files, dataDirectory) }],
  });
}

/**
 * Metrics from the store; queried only when /metrics is requested.
 *
 * @param onlineWindowMs how long after its last heartbeat a robot is online.
 */
export function addStoreFigures(reader: Reader, metrics: Metrics, clock: Clock, onlineWindowMs: number): void {
  const add = (figure: Figure, freshMs = FIGURES_FRESH_MS) =>
    metrics.addFigure({ ...figure, count: createFresh(() => figure.count(), freshMs, clock, REST_RATIO) });
  const robots: Figure = {
    name: "robots",
    help: "Robots by their status; not_ready: online, but the robot cannot register; not_monitored: no computer is enrolled. Replicas that share a store report the same.",
    label: "status",
    async count() {
      const onlineSince = isoTime(clock.wallMs() - onlineWindowMs);
      const status = sql<string>`case when installations.id is null then 'not_monitored'
        when state = 'frozen' then 'frozen'
        when last_seen_at is null or last_seen_at < ${onlineSince} then 'offline'
        when readiness = 'not_ready' then 'not_ready' else 'online' end`;
      const rows = await reader
        .selectFrom("robots")
        .leftJoin("installations", "installations.id", "robots.installation_id")
        .where("robots.removed_at", "is", null)
        .groupBy(sql.ref("kind"))
        .select(({ fn }) => [status.as("kind"), fn.countAll<number>().as("count")])
        .execute();
      const counts = new Map<string, number>(Object.entries(NO_ROBOTS));
      for (const { kind, count } of rows) counts.set(kind, count);
      return [...counts].map(([kind, count]) => ({ kind, count }));
    },
  };
  add(robots, ROBOTS_FRESH_MS);
  add(
    {
      name: "fleets",
      help: "Fleets by their status.",
      label: "status",
      count: () => countFleets(reader, clock.wallMs()),
    },
    ROBOTS_FRESH_MS,
  );
  add({
    name: "enrolments",
    help: "Robot computers that wait for an operator to approve their code.",
    label: "status",
    async count() {
      const { count } = await reader
        .selectFrom("enrolments")
        .where("status", "=", "pending")
        .where("expires_at", ">", isoTime(clock.wallMs()))
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow();
      return [{ kind: "waiting", count }];
    },
  });
  add({
    name: "endpoints",
    help: "Inference endpoints of the catalog, by their health.",
    label: "health",
    count() {
      return reader
        .selectFrom("endpoints")
        .innerJoin("checkpoints", "checkpoints.id", "endpoints.checkpoint_id")
        .where("endpoints.withdrawn_at", "is", null)
        .where("checkpoints.withdrawn_at", "is", null)
        .groupBy("health")
        .select(({ fn }) => ["health as kind", fn.countAll<number>().as("count")])
        .execute();
    },
  });
  add({
    name: "deployments",
    help: "Deployments that are not retired, by their status.",
    label: "status",
    count() {
      return reader
        .selectFrom("deployments")
        .where("retired_at", "is", null)
        .groupBy("status")
        .select(({ fn }) => ["status as kind", fn.countAll<number>().as("count")])
        .execute();
    },
  });
}
