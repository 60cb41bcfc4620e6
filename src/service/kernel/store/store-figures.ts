import type { Clock } from "../../../platform/clock.ts";
import { createFresh } from "../fresh.ts";
import type { Figure, Metrics } from "../metrics.ts";
import type { Reader } from "./store.ts";

/** How long figures are cached, because anyone may request the metrics; Prometheus does every few seconds. */
export const FIGURES_FRESH_MS = 5000;

/** Metrics from the store; queried only when /metrics is requested. */
export function addStoreFigures(reader: Reader, metrics: Metrics, clock: Clock): void {
  const add = (figure: Figure) =>
    metrics.addFigure({ ...figure, count: createFresh(() => figure.count(), FIGURES_FRESH_MS, clock) });
  add({
    name: "endpoints",
    help: "Inference endpoints of the catalog, by their health.",
    label: "health",
    count() {
      return reader
        .selectFrom("endpoints")
        .where("withdrawn_at", "is", null)
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
