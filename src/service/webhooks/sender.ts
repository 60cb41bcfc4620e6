import { createOutgoing } from "../kernel/outgoing.ts";
import type { Sent } from "../kernel/outgoing.ts";
import { FORBIDDEN_ADDRESS } from "./receivers.ts";
import type { Receivers } from "./receivers.ts";

export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends events. */
export interface Sender extends AsyncDisposable {
  /** One POST. Never throws. */
  send(message: Message, signal: AbortSignal): Promise<Sent>;
}

/** Only the status counts; more of an answer closes the connection. */
const ANSWER_BYTES = 1024;
const FORBIDDEN = "the address is not public";

/** Each message opens a connection, so that every address is judged. */
export function createSender({ lookup, problemOf }: Receivers, timeoutMs: number): Sender {
  const reasons = new Map([[FORBIDDEN_ADDRESS, FORBIDDEN]]);
  const outgoing = createOutgoing({ timeoutMs, answerBytes: ANSWER_BYTES, lookup, reasons });
  return {
    async send({ url, headers, body }, signal) {
      // An address in a URL is not looked up. The configuration may allow less than when the webhook was created.
      if (problemOf(url) !== null) return { state: "failed", reason: FORBIDDEN };
      return outgoing.send(
        url,
        { method: "POST", headers: { ...headers, "content-type": "application/json" }, body },
        signal,
      );
    },
    [Symbol.asyncDispose]: () => outgoing[Symbol.asyncDispose](),
  };
}
