import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

import type { Store } from "./store/store.ts";
import { StoreUnavailableError } from "./store/unavailable.ts";
import type { Task } from "./tasks/task-loop.ts";
import type { Limit } from "./traffic/limits.ts";

/** An answered request. Every member has few values, whatever clients send. */
export interface AnsweredRequest {
  readonly method: string;
  /** Template of the path, `/v1/fleets/{fleet_id}`; `none` for an unknown path. */
  readonly route: string;
  readonly status: number;
  readonly durationS: number;
}

/** Metrics for Prometheus. No label contains a name, an id or an address. */
export interface Metrics {
  readonly contentType: string;
  render(): Promise<string>;
  answered(request: AnsweredRequest): void;
  /** A client was refused, or lost a connection, because of a limit. */
  limitMet(limit: Limit): void;
  /** When the current certificate expires, in seconds since the Unix epoch. */
  certificateEnds(atS: number): void;
  /** A write was requested. @returns the function to call when it ends. */
  writing(): (outcome: "committed" | "unavailable" | "failed") => void;
  /** A run of a task ended. */
  taskEnded(task: string, outcome: "succeeded" | "failed"): void;
  /** Adds a figure that is read on each request for metrics, and omitted when reading fails. */
  addFigure(figure: Figure): void;
}

/** A number per kind, for example endpoints by health. */
export interface Figure {
  readonly name: string;
  readonly help: string;
  /** The label that distinguishes kinds; null for a single number, whose kind is not shown. */
  readonly label: string | null;
  count(): Promise<readonly KindCount[]>;
}

export interface KindCount {
  readonly kind: string;
  readonly count: number;
}

/** Histogram bounds in seconds: lists and durable writes take a few milliseconds, a hanging disk takes seconds. */
const DURATION_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const PREFIX = "robot_policy_service_";

let processRegistry: Registry | undefined;

/** Created once, because its timers and observers of the event loop and the garbage collector last as long as the process. */
function metricsOfProcess(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}

/** @param registry by default a separate one, with the metrics of the process. */
export function createMetrics(registry = Registry.merge([metricsOfProcess()])): Metrics {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers });
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name: PREFIX + name, help, labelNames, registers });
  const durations = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Histogram({ name: PREFIX + name, help, labelNames, registers, buckets: DURATION_BUCKETS_S });
  const requests = durations(
    "http_request_duration_seconds",
    "Time from the headers of a request to the end of its answer.",
    "method",
    "route",
    "status",
  );
  const limitsMet = counter(
    "limits_met_total",
    "How often a limit turned a request away or closed a connection.",
    "limit",
  );
  const certificate = gauge(
    "tls_certificate_not_after_seconds",
    "When the TLS certificate in force ends, in seconds since the Unix epoch; 0 without TLS.",
  );
  const waiting = gauge("store_writes_waiting", "Writes that wait for their commit.");
  const writes = durations(
    "store_write_duration_seconds",
    "Time from asking for a write to its commit, by how it ended.",
    "outcome",
  );
  const runs = counter("task_runs_total", "Runs of the tasks in the background, by how they ended.", "task", "outcome");

  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    answered: ({ method, route, status, durationS }) => requests.observe({ method, route, status }, durationS),
    limitMet: (limit) => limitsMet.inc({ limit }),
    certificateEnds: (atS) => certificate.set(atS),
    writing() {
      waiting.inc();
      const end = writes.startTimer();
      return (outcome) => {
        waiting.dec();
        end({ outcome });
      };
    },
    taskEnded: (task, outcome) => runs.inc({ task, outcome }),
    addFigure({ name, help, label, count }) {
      const gauge: Gauge = new Gauge({
        name: PREFIX + name,
        help,
        labelNames: label === null ? [] : [label],
        registers,
        async collect() {
          gauge.reset();
          try {
            for (const { kind, count: value } of await count())
              gauge.set(label === null ? {} : { [label]: kind }, value);
          } catch {
            // An unreachable store has its own metric; other metrics are still reported.
          }
        },
      });
    },
  };
}

/** Wraps a store to measure its writes. */
export function measureStore(store: Store, metrics: Metrics): Store {
  return {
    ...store,
    async write(job) {
      const end = metrics.writing();
      try {
        const value = await store.write(job);
        end("committed");
        return value;
      } catch (error) {
        end(error instanceof StoreUnavailableError ? "unavailable" : "failed");
        throw error;
      }
    },
  };
}

/** Wraps a task to count its runs. */
export function measureTask(task: Task, metrics: Metrics): Task {
  return {
    ...task,
    async run(signal) {
      try {
        await task.run(signal);
        metrics.taskEnded(task.name, "succeeded");
      } catch (error) {
        // Aborted runs are not counted.
        if (!signal.aborted) metrics.taskEnded(task.name, "failed");
        throw error;
      }
    },
  };
}
