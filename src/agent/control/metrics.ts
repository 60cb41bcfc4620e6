import type { StatusDocument } from "../status.ts";

/** The agent in the Prometheus text format, version 0.0.4. */
export function renderMetrics(status: StatusDocument): string {
  const { daemon, registration, confirmation } = status;
  return [
    metric("robot_policy_agent_healthy", "gauge", "1 when the registration matches the disk.", status.healthy ? 1 : 0),
    metric("robot_policy_agent_state", "gauge", "The state of the agent.", 1, { state: status.state }),
    metric(
      "robot_policy_agent_polling",
      "gauge",
      "1 when changes are found by polling.",
      status.watching?.mode === "polling" ? 1 : 0,
    ),
    metric(
      "robot_policy_agent_findings",
      "gauge",
      "Findings in configuration, manifest and files.",
      status.findings.length,
    ),
    metric(
      "robot_policy_agent_registered_timestamp_seconds",
      "gauge",
      "Time of the last accepted registration.",
      seconds(registration?.registered_at ?? null),
    ),
    metric(
      "robot_policy_agent_confirmed_timestamp_seconds",
      "gauge",
      "Time at which the service last confirmed the registration, 0 when not since the start.",
      seconds(confirmation?.confirmed_at ?? null),
    ),
    metric("robot_policy_agent_attempts_total", "counter", "Registration requests sent.", daemon?.attempts ?? 0),
    metric("robot_policy_agent_registrations_total", "counter", "Registrations accepted.", daemon?.registrations ?? 0),
    metric("robot_policy_agent_runs_total", "counter", "Runs of the reconcile loop.", daemon?.runs ?? 0),
  ].join("");
}

function seconds(moment: string | null): number {
  return moment === null ? 0 : Math.floor(Date.parse(moment) / 1000);
}

function metric(
  name: string,
  type: "gauge" | "counter",
  help: string,
  value: number,
  labels: Readonly<Record<string, string>> = {},
): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
  const selector = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name}${selector} ${value}\n`;
}
