/** The answers of the control socket. */
import type { IncomingMessage, ServerResponse } from "node:http";

import type { Agent } from "../agent.ts";
import type { StatusDocument } from "../status.ts";

export type ControlledAgent = Pick<Agent, "status" | "register" | "confirm" | "rebind" | "enroll" | "reload">;

/** A client that does not send its request, or read its answer, within this time is disconnected. */
export const CLIENT_LIMIT_MS = 10_000;
/** Bounds the answers that wait for a run of the agent. A client that disconnects does not end its wait. */
const WAITING_LIMIT = 32;
const RETRY_AFTER_S = 1;

/** Answers GET requests from memory, and POST requests once the agent has done what they ask for. */
export function answersOf(
  agent: ControlledAgent,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  let waiting = 0;
  return async (request, response) => {
    request.resume();
    const { method = "", url = "" } = request;
    const asked = `${method} ${url}`;
    if (method !== "POST") return answerNow(agent, asked, response);
    if (waiting >= WAITING_LIMIT) {
      response.setHeader("retry-after", RETRY_AFTER_S);
      return json(response, 429, { detail: "too many requests wait for the agent", retry_after_s: RETRY_AFTER_S });
    }
    waiting += 1;
    try {
      await answerLater(agent, asked, response);
    } finally {
      waiting -= 1;
    }
  };
}

function answerNow(agent: ControlledAgent, asked: string, response: ServerResponse): void {
  switch (asked) {
    case "GET /status":
      return json(response, 200, agent.status());
    case "GET /healthz":
      return json(response, 200, { status: "ok" });
    case "GET /readyz": {
      const { healthy, state, summary } = agent.status();
      return json(response, healthy ? 200 : 503, { ready: healthy, state, summary });
    }
    case "GET /metrics":
      return send(response, 200, "text/plain; version=0.0.4; charset=utf-8", renderMetrics(agent.status()));
    default:
      return unknown(response, asked);
  }
}

async function answerLater(agent: ControlledAgent, asked: string, response: ServerResponse): Promise<void> {
  switch (asked) {
    case "POST /register":
      return tell(response, await agent.register());
    case "POST /confirm":
      return tell(response, await agent.confirm());
    case "POST /rebind": {
      const status = await agent.rebind();
      if (status !== null) return tell(response, status);
      return json(response, 409, { detail: "the registration is still in the state directory" });
    }
    case "POST /enroll":
      return json(response, 200, await agent.enroll());
    case "POST /reload": {
      const reload = await agent.reload();
      return json(response, reload.reloaded ? 200 : 422, reload);
    }
    default:
      return unknown(response, asked);
  }
}

function tell(response: ServerResponse, status: StatusDocument): void {
  json(response, status.healthy ? 200 : 503, status);
}

function unknown(response: ServerResponse, asked: string): void {
  json(response, 404, { detail: `no ${asked} here` });
}

function json(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, "application/json", `${JSON.stringify(body)}\n`);
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), connection: "close" });
  response.end(body);
  // A client that does not read its answer is disconnected, to free the connection.
  const deadline = setTimeout(() => response.destroy(), CLIENT_LIMIT_MS);
  response.on("close", () => clearTimeout(deadline));
}

/** The agent in the Prometheus text format, version 0.0.4. */
function renderMetrics({ healthy, state, watching, findings, ...status }: StatusDocument): string {
  const { daemon, registration, confirmation } = status;
  const confirmedHelp = "Time at which the service last confirmed the registration, 0 when not since the start.";
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
    metric("confirmed_timestamp_seconds", "gauge", confirmedHelp, seconds(confirmation?.confirmed_at)),
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
