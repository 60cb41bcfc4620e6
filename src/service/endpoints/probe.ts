import { createOutgoing } from "../kernel/outgoing.ts";

/** `failed` has a reason in a few words. `abandoned`: the service stopped the probe, so nothing is known. */
export type Probed =
  | { readonly state: "succeeded" }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "abandoned" };

/** Probes the health URLs of endpoints. */
export interface HealthProbe extends AsyncDisposable {
  /** Sends a GET; any 2xx in time is a success. Never throws. */
  probe(healthUrl: string, signal: AbortSignal): Promise<Probed>;
}

const ANSWER_BYTES = 64 * 1024;

/** Each probe opens a new connection: an endpoint is healthy if it accepts new clients. A redirect is no success. */
export function createHealthProbe(timeoutMs: number): HealthProbe {
  const outgoing = createOutgoing({ timeoutMs, answerBytes: ANSWER_BYTES });
  return {
    async probe(healthUrl, signal) {
      const sent = await outgoing.send(healthUrl, { headers: { accept: "*/*" } }, signal);
      if (sent.state !== "answered") return sent;
      const isSuccess = sent.status >= 200 && sent.status < 300;
      return isSuccess ? { state: "succeeded" } : { state: "failed", reason: `answered ${sent.status}` };
    },
    [Symbol.asyncDispose]: () => outgoing[Symbol.asyncDispose](),
  };
}
