import type { LookupFunction } from "node:net";

import { errorCode } from "../../platform/files/files.ts";

/** What a request came to. `failed` has a reason in a few words. `abandoned`: the service stopped the request, so nothing is known. */
export type Sent =
  | {
      readonly state: "answered";
      readonly status: number;
      /** Headers of the answer. */
      readonly retryAfter?: string | undefined;
      readonly date?: string | undefined;
      /** The body, where it was asked for; null if it is too large or incomplete. */
      readonly text: string | null;
    }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "abandoned" };

interface Request {
  readonly method?: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Otherwise only the status of the answer counts. */
  readonly isAnswerRead?: boolean;
}

/** Requests of the service to others. */
export interface Outgoing extends AsyncDisposable {
  /** Never throws. */
  send(url: string, request: Request, signal: AbortSignal): Promise<Sent>;
}

export interface OutgoingOptions {
  /** From the connection to the end of the answer. */
  readonly timeoutMs: number;
  /** Bytes read of a body: a read body lets the connection close cleanly, more closes it at once. */
  readonly answerBytes: number;
  /** Resolves names; the system's own by default. */
  readonly lookup?: LookupFunction;
  /** Words for codes of errors besides the usual ones. */
  readonly reasons?: ReadonlyMap<string, string>;
}

const HEADER_BYTES_MAXIMUM = 16 * 1024;

/** Each request opens a connection of its own. Redirects are not followed. */
export function createOutgoing({ timeoutMs, answerBytes, lookup, reasons }: OutgoingOptions): Outgoing {
  const closing = new AbortController();
  let library: ReturnType<typeof load> | undefined;

  /** Loaded at the first request, because undici takes 18 MB and many services send none. */
  async function load() {
    const { Agent, request } = await import("undici");
    const agent = new Agent({
      pipelining: 0,
      connect: {
        timeout: timeoutMs,
        signal: closing.signal,
        // Node gives up an address before it tries the next one, by default after 250 ms, too soon for a slow link.
        autoSelectFamilyAttemptTimeout: Math.ceil(timeoutMs / 3),
        ...(lookup === undefined ? {} : { lookup }),
      },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxHeaderSize: HEADER_BYTES_MAXIMUM,
    });
    return { agent, request };
  }

  return {
    async send(url, { headers, isAnswerRead = false, ...rest }, signal) {
      library ??= load();
      const { agent, request } = await library;
      const deadline = AbortSignal.timeout(timeoutMs);
      try {
        const answer = await request(url, {
          ...rest,
          dispatcher: agent,
          headers: { ...headers, "user-agent": "robot-policy-service" },
          signal: AbortSignal.any([signal, deadline]),
        });
        const text = isAnswerRead ? await readText(answer.body, answerBytes) : await finish(answer.body, answerBytes);
        const { date, "retry-after": retryAfter } = answer.headers;
        return {
          state: "answered",
          status: answer.statusCode,
          retryAfter: single(retryAfter),
          date: single(date),
          text,
        };
      } catch (error) {
        if (signal.aborted) return { state: "abandoned" };
        if (deadline.aborted) return { state: "failed", reason: `no answer within ${timeoutMs} ms` };
        return { state: "failed", reason: reasons?.get(errorCode(error) ?? "") ?? reasonOf(error) };
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await (await library)?.agent.destroy();
    },
  };
}

function single(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}

/** An incomplete or endless body does not change the result, which is the status. */
async function finish(body: { dump(options: { readonly limit: number }): Promise<void> }, limit: number) {
  try {
    await body.dump({ limit });
  } catch {
    // The connection is closed; the status was read.
  }
  return null;
}

async function readText(body: AsyncIterable<Uint8Array>, limit: number): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > limit) return null;
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString();
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

/** Codes of the system and of libraries are short and contain no secrets; messages may be long and contain them. */
function reasonOf(error: unknown): string {
  const code = errorCode(error) ?? "";
  return REASONS.get(code) ?? (/^[A-Z0-9_]{1,48}$/.test(code) ? code : "not an HTTP answer");
}
