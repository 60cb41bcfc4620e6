import { type HttpAnswer, TransportError, type UnreachableReason } from "../../src/client/transport/transport.ts";
import type { Dice } from "./dice.ts";

/** What currently happens to a request. */
export type Weather =
  | { readonly kind: "fair" }
  /** It does not arrive. */
  | { readonly kind: "unreachable"; readonly reason: UnreachableReason; readonly code: string }
  /** No answer ever comes; the client's time limit ends the request. */
  | { readonly kind: "hangs"; readonly arrives: boolean }
  /** The service accepts it, and the answer is lost. */
  | { readonly kind: "answer-lost" }
  /** Another server sends this answer; the service never sees the request. */
  | {
      readonly kind: "answers";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  /** The service accepts it, and the answer names another robot. */
  | { readonly kind: "foreign-robot" };

export const FAIR: Weather = { kind: "fair" };

/** Placeholder for the request's credential in an answer. */
const ECHO = "{credential}";

const PORTAL = "<!doctype html><title>Free WiFi</title><p>Please accept our terms";

/** One example of each fault between a robot and the service. Some servers repeat the key in their answer. */
export function throwWeather(dice: Dice, trueMs: number): Weather {
  const echo = ECHO;
  const refuses = (status: number, detail: unknown, headers: Readonly<Record<string, string>> = {}): Weather => ({
    kind: "answers",
    status,
    headers: { "content-type": "application/json", date: new Date(trueMs).toUTCString(), ...headers },
    body: JSON.stringify({ detail }),
  });
  const weathers: readonly (() => Weather)[] = [
    () => FAIR,
    () => ({ kind: "unreachable", reason: "dns", code: "ENOTFOUND" }),
    () => ({ kind: "unreachable", reason: "connect", code: "ECONNREFUSED" }),
    () => ({ kind: "unreachable", reason: "reset", code: "ECONNRESET" }),
    () => ({ kind: "unreachable", reason: "tls", code: "SELF_SIGNED_CERT_IN_CHAIN" }),
    () => ({ kind: "unreachable", reason: "proxy", code: "HTTP_407" }),
    () => ({ kind: "hangs", arrives: false }),
    // The most dangerous fault: the service has accepted more than the robot knows.
    ...Array.from({ length: 4 }, () => (): Weather => ({ kind: "hangs", arrives: true })),
    ...Array.from({ length: 3 }, () => (): Weather => ({ kind: "answer-lost" })),
    () => ({ kind: "foreign-robot" }),
    () => ({ kind: "answers", status: 200, headers: { "content-type": "text/html" }, body: PORTAL }),
    () => ({ kind: "answers", status: 200, headers: {}, body: '{"robot":{"id":7}}' }),
    () => ({ kind: "answers", status: 204, headers: {}, body: "" }),
    () => ({ kind: "answers", status: 307, headers: { location: "https://elsewhere.example/login" }, body: "" }),
    () => refuses(401, `Bad credential ${echo}`),
    () => refuses(403, "Not allowed"),
    () => refuses(404, "Not Found"),
    () => refuses(405, "Method Not Allowed"),
    () => refuses(409, `Conflict about ${echo}`),
    () =>
      refuses(422, [{ loc: ["body", "region"], msg: `Unknown region (${echo})`, type: "value_error", input: echo }]),
    () => refuses(429, "Too many", { "retry-after": String(dice.below(120)) }),
    () => refuses(503, "Busy", { "retry-after": new Date(trueMs + dice.below(300_000)).toUTCString() }),
    () => refuses(503, "Busy", { "retry-after": dice.pick(["999999999999", "-5", "soon", "1e9", ""]) }),
    () => refuses(500, `Trouble with ${echo}`),
    () => refuses(502, "Bad gateway"),
  ];
  return dice.pick(weathers)();
}

/** The answer to a request with this credential. */
export function answerFrom(
  { status, headers, body }: Extract<Weather, { kind: "answers" }>,
  credential: string,
): HttpAnswer {
  return answerOf(status, headers, body.replaceAll(ECHO, credential));
}

export function lost(reason: UnreachableReason, code: string): TransportError {
  return new TransportError(reason, code, `no answer (${code})`);
}

export function answerOf(status: number, headers: Readonly<Record<string, string>>, body: string): HttpAnswer {
  return { status, headers, body: new TextEncoder().encode(body), complete: true };
}
