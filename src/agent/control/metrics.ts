import type { StatusDocument } from "../status.ts";

/** The agent in the Prometheus text format, version 0.0.4. The names begin with robot_policy_agent_. */
export function renderMetrics({ healthy, state, watching, findings, ...status }: StatusDocument): string {
  const { daemon, registration, confirmation } = status;
  return [
    metric("healthy", "gauge", "1 when the registration matches the disk.", healthy ? 1 : 0),
    metric("state", "gauge", "The state of the agent.", 1, `{state="${state}"}`),
    metric("polling", "gauge", "1 when changes are found by polling.", watching?.mode === "polling" ? 1 : 0),
    metric("findings", "gauge", "Findings in configuration, manifest and files.", findings.length),
    metric(
      "registered_timestamp_seconds",
      "gauge",
      "Time of the last accepted registration.",
      seconds(registration?.registered_at),
    ),
    metric(
      "confirmed_timestamp_seconds",
      "gauge",
      "Time at which the service last confirmed the registration, 0 when not since the start.",
      seconds(confirmation?.confirmed_at),
    ),
    metric("attempts_total", "counter", "Registration requests sent.", daemon?.attempts ?? 0),
    metric("registrations_total", "counter", "Registrations accepted.", daemon?.registrations ?? 0),
    metric("runs_total", "counter", "Runs of the reconcile loop.", daemon?.runs ?? 0),
  ].join("");
}

function seconds(moment: string | null | undefined): number {
  return moment ? Math.floor(Date.parse(moment) / 1000) : 0;
}

function metric(name: string, type: "gauge" | "counter", help: string, value: number, labels = ""): string {
  const full = `robot_policy_agent_${name}`;
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${full}${labels} ${value}\n`;
}
