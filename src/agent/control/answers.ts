/** The answers of the control socket. */
import type { IncomingMessage, ServerResponse } from "node:http";

import type { Clock } from "../../platform/clock.ts";
import type { Agent } from "../agent.ts";
import type { StatusDocument } from "../status.ts";
import { createBucket } from "../registration/rate-cap.ts";
import { renderMetrics } from "./metrics.ts";

export type ControlledAgent = Pick<Agent, "status" | "register" | "confirm" | "rebind" | "enroll" | "reload">;

/** A client that does not send its request, or read its answer, within this time is disconnected. */
export const CLIENT_LIMIT_MS = 10_000;
/** Rate limit of requests that cause a request to the service, so that a script in a loop cannot flood it. */
const ASKED_BURST = 10;
const ASKED_REFILL_MS = 6000;
/** Bounds the answers that wait for a run of the agent. A client that disconnects does not end its wait. */
const WAITING_LIMIT = 32;

/** Answers one request after the other, within these limits. */
export function answersOf(
  agent: ControlledAgent,
  clock: Clock,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const quota = createBucket(ASKED_BURST, ASKED_REFILL_MS);
  let waiting = 0;
  return async (request, response) => {
    request.resume();
    const { method = "", url = "" } = request;
    const asked = `${method} ${url}`;
    if (method !== "POST") return answerNow(agent, asked, response);
    if (waiting >= WAITING_LIMIT) return refuse(response, "too many requests wait for the agent", 1);
    if (REQUESTING.has(asked)) {
      const waitMs = quota.untilMs() - clock.monotonicMs();
      if (waitMs > 0) return refuse(response, "asked too often", Math.ceil(waitMs / 1000));
      quota.take(clock.monotonicMs());
    }
    waiting += 1;
    try {
      await answerLater(agent, asked, response);
    } finally {
      waiting -= 1;
    }
  };
}

/** Answers GET requests from memory. */
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

/** These cause a request to the service each time. */
const REQUESTING: ReadonlySet<string> = new Set(["POST /register", "POST /confirm", "POST /rebind", "POST /enroll"]);

/** Runs a POST request. */
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

function refuse(response: ServerResponse, detail: string, retryAfterS: number): void {
  response.setHeader("retry-after", retryAfterS);
  json(response, 429, { detail, retry_after_s: retryAfterS });
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
