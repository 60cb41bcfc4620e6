import { type HttpAnswer, TransportError, type UnreachableReason } from "../../src/client/transport/transport.ts";
import type { Dice } from "./dice.ts";

/** What becomes of a request at the moment. */
export type Weather =
  | { readonly kind: "fair" }
  /** It never gets there. */
  | { readonly kind: "unreachable"; readonly reason: UnreachableReason; readonly code: string }
  /** Nobody ever answers; the client gives up by its own time limit. */
  | { readonly kind: "hangs"; readonly arrives: boolean }
  /** It is accepted, and the answer is lost. */
  | { readonly kind: "answer-lost" }
  /** Somebody answers with this, and does nothing. */
  | {
      readonly kind: "answers";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  /** It is accepted, and the answer is about another robot. */
  | { readonly kind: "foreign-robot" };

export const FAIR: Weather = { kind: "fair" };

/** Stands for the credential of the request in what a server answers. */
const ECHO = "{credential}";

const PORTAL = "<!doctype html><title>Free WiFi</title><p>Please accept our terms";

/** One of everything a robot meets between itself and the service. Careless servers repeat the key. */
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
    // The service knows more than the robot then; nothing else is as treacherous.
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
