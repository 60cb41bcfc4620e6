import { errorCode } from "../../platform/files/files.ts";

/** `failed` says why in a few words, for a person; `abandoned` says nothing about the endpoint, because we gave up ourselves. */
export type Probed =
  | { readonly state: "succeeded" }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "abandoned" };

/** Asks health URLs how their endpoints are. */
export interface HealthProbe extends AsyncDisposable {
  /** One GET; any 2xx within the time is a success. Never throws. */
  probe(healthUrl: string, signal: AbortSignal): Promise<Probed>;
}

/** What is read of an answer's body: its status says everything, but a connection is closed better after its end. */
const BODY_BYTES_MAXIMUM = 64 * 1024;
const HEADER_BYTES_MAXIMUM = 16 * 1024;

/**
 * Probes over connections of their own, each made anew: an endpoint is healthy when it takes new clients, not when it still
 * serves an old one. Redirects are not followed; they are no 2xx.
 */
export function createHealthProbe(timeoutMs: number): HealthProbe {
  let library: ReturnType<typeof load> | undefined;

  /** With the first probe: a service without models does without the library, which takes 18 MB. */
  async function load() {
    const { Agent, request } = await import("undici");
    const agent = new Agent({
      pipelining: 0,
      connect: { timeout: timeoutMs },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxHeaderSize: HEADER_BYTES_MAXIMUM,
    });
    return { agent, request };
  }

  return {
    async probe(healthUrl, signal) {
      library ??= load();
      const { agent, request } = await library;
      const deadline = AbortSignal.timeout(timeoutMs);
      try {
        const answer = await request(healthUrl, {
          dispatcher: agent,
          headers: { accept: "*/*", "user-agent": "robot-policy-service" },
          signal: AbortSignal.any([signal, deadline]),
        });
        await finish(answer.body);
        const isSuccess = answer.statusCode >= 200 && answer.statusCode < 300;
        return isSuccess ? { state: "succeeded" } : { state: "failed", reason: `answered ${answer.statusCode}` };
      } catch (error) {
        if (signal.aborted) return { state: "abandoned" };
        return { state: "failed", reason: deadline.aborted ? `no answer within ${timeoutMs} ms` : reasonOf(error) };
      }
    },
    async [Symbol.asyncDispose]() {
      await (await library)?.agent.destroy();
    },
  };
}

/** The status was there in time; a body that breaks off or goes on for ever does not take it back. */
async function finish(body: { dump(options: { readonly limit: number }): Promise<void> }): Promise<void> {
  try {
    await body.dump({ limit: BODY_BYTES_MAXIMUM });
  } catch {
    // Its connection is gone, and nothing else was wanted of it.
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "connection refused"],
  ["ECONNRESET", "connection broken"],
  ["UND_ERR_SOCKET", "connection broken"],
  ["ENOTFOUND", "host not found"],
  ["EAI_AGAIN", "host name not resolved"],
  ["EHOSTUNREACH", "host unreachable"],
  ["ENETUNREACH", "network unreachable"],
  ["UND_ERR_CONNECT_TIMEOUT", "no connection in time"],
  ["UND_ERR_HEADERS_TIMEOUT", "no answer in time"],
  ["UND_ERR_HEADERS_OVERFLOW", "headers too large"],
]);

/** Codes of systems and libraries are short and without secrets; their messages are neither. */
function reasonOf(error: unknown): string {
  const code = errorCode(error) ?? "";
  return REASONS.get(code) ?? (/^[A-Z0-9_]{1,48}$/.test(code) ? code : "not an HTTP answer");
}
