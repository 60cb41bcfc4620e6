/** The metrics of the control socket, in the Prometheus text format, version 0.0.4. */
import type { StatusDocument } from "../status.ts";

interface Metric {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  /** A label whose value is the state. */
  readonly label?: "state";
  readonly valueOf: (status: StatusDocument) => number;
}

export const METRICS: readonly Metric[] = [
  gauge("healthy", "1 when the registration matches the disk.", ({ healthy }) => (healthy ? 1 : 0)),
  { ...gauge("state", "The state of the agent.", () => 1), label: "state" },
  gauge("polling", "1 when changes are found by polling.", ({ watching }) => (watching?.mode === "polling" ? 1 : 0)),
  gauge("findings", "Findings in configuration, manifest and files.", ({ findings }) => findings.length),
  gauge("registered_timestamp_seconds", "Time of the last accepted registration.", ({ registration }) =>
    seconds(registration?.registered_at),
  ),
  gauge(
    "confirmed_timestamp_seconds",
    "Time at which the service last confirmed the registration, 0 when not since the start.",
    ({ confirmation }) => seconds(confirmation?.confirmed_at),
  ),
  counter("attempts_total", "Registration requests sent.", ({ daemon }) => daemon?.attempts ?? 0),
  counter("registrations_total", "Registrations accepted.", ({ daemon }) => daemon?.registrations ?? 0),
  counter("runs_total", "Runs of the reconcile loop.", ({ daemon }) => daemon?.runs ?? 0),
];

export function renderMetrics(status: StatusDocument): string {
  return METRICS.map(({ name, type, help, label, valueOf }) => {
    const labels = label === undefined ? "" : `{${label}="${status.state}"}`;
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name}${labels} ${valueOf(status)}\n`;
  }).join("");
}

function gauge(name: string, help: string, valueOf: Metric["valueOf"]): Metric {
  return { name: `robot_policy_agent_${name}`, type: "gauge", help, valueOf };
}

function counter(name: string, help: string, valueOf: Metric["valueOf"]): Metric {
  return { ...gauge(name, help, valueOf), type: "counter" };
}

function seconds(moment: string | null | undefined): number {
  return moment ? Math.floor(Date.parse(moment) / 1000) : 0;
}
