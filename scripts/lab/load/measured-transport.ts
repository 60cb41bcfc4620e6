import { randomInt } from "node:crypto";

import { type Transport, TransportError } from "../../../src/client/transport/transport.ts";
import type { Samples } from "./samples.ts";

/** The paths whose requests are measured separately. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ["/v1/robot-agent/enrollment", "enroll: start"],
  ["/v1/robot-agent/enrollment/poll", "enroll: poll"],
  ["/v1/robot-agent/heartbeat", "heartbeat"],
  ["/v1/robot-agent/credential/renew", "renewal"],
  ["/v1/robots/setup", "setup"],
]);

/**
 * The agent's transport behind a simulated load balancer: each request goes to the next replica, and names the robot's address.
 *
 * @param urls of the replicas.
 */
export function measuredTransport(inner: Transport, urls: readonly string[], samples: Samples): Transport {
  let turn = randomInt(1000);
  const address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
  return {
    async send(request, signal) {
      const { pathname } = new URL(request.url);
      const url = `${urls[turn++ % urls.length] ?? ""}${pathname}`;
      const headers = { ...request.headers, "x-forwarded-for": address };
      const startedMs = performance.now();
      const kind = KINDS.get(pathname) ?? pathname;
      try {
        const answer = await inner.send({ ...request, url, headers }, signal);
        samples.answered(kind, answer.status, performance.now() - startedMs);
        return answer;
      } catch (error) {
        if (error instanceof TransportError && error.reason !== "aborted")
          samples.unanswered(error.code ?? error.reason);
        throw error;
      }
    },
    prepare: () => inner.prepare(),
    close: () => inner.close(),
  };
}
