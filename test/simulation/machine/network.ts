import type { HttpAnswer, HttpRequest, Transport } from "../../../src/client/transport/transport.ts";
import type { Dice } from "../dice.ts";
import type { Event, Process, Scheduler } from "../scheduler.ts";
import { answerFrom, answerOf, lost, type Weather } from "../weather.ts";

export interface SentRequest {
  readonly process: Process;
  readonly request: HttpRequest;
  readonly sentMs: number;
}

/** The result of a request as seen by the robot. */
export type Answer = { readonly kind: "answer"; readonly answer: HttpAnswer } | { readonly kind: "none" };

/** The network between the robot and the hosted service. */
export interface Network {
  weather: (request: HttpRequest) => Weather;
  transportFor(process: Process): Transport;
}

export interface NetworkOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  /** Handles a request that reached the service, even if the robot died meanwhile; null when the connection breaks. */
  serve(request: HttpRequest): Promise<HttpAnswer | null>;
  /** Whether the robot's clock is so wrong that no certificate is valid. */
  isClockWrong(): boolean;
  onRequest(sent: SentRequest): void;
  /** Called when the robot receives the result. */
  onAnswer(sent: SentRequest, answer: Answer): void;
}

/**
 * Maximum transit time to the service. Shorter than the restart of a killed robot, so that no old request overtakes a newer one: the
 * contract defines no order by which a service could sort them.
 */
const WAY_MS = 60;

export function createNetwork(options: NetworkOptions): Network {
  const { scheduler, dice } = options;

  function carry(process: Process, request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const sent: SentRequest = { process, request, sentMs: scheduler.nowMs };
    options.onRequest(sent);
    return new Promise((resolve, reject) => {
      const events: Event[] = [];
      let settled = false;
      const later = (delayMs: number, owner: Process | null, label: string, run: () => void) => {
        events.push(scheduler.after(delayMs, owner, label, run));
      };
      const settle = (answer: Answer, act: () => void) => {
        if (settled) return;
        settled = true;
        // A request in transit arrives even if the client gave up.
        signal.removeEventListener("abort", onAbort);
        timeout.cancel();
        options.onAnswer(sent, answer);
        act();
      };
      const fail = (reason: Parameters<typeof lost>[0], code: string) => {
        settle({ kind: "none" }, () => reject(lost(reason, code)));
      };
      const answer = (delayMs: number, given: HttpAnswer) => {
        later(delayMs, process, `#${process.id} answer ${given.status}`, () => {
          settle({ kind: "answer", answer: given }, () => resolve(given));
        });
      };
      const arrive = (then: (given: HttpAnswer) => void) => {
        later(dice.between(1, WAY_MS), null, "request arrives", () => {
          void options.serve(request).then((given) => {
            if (given !== null) then(given);
            else later(dice.between(1, WAY_MS), process, "connection breaks", () => fail("reset", "ECONNRESET"));
          });
        });
      };
      const onAbort = () => {
        for (const event of events) if (dice.chance(0.5)) event.cancel();
        fail("aborted", "ABORTED");
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const timeout = scheduler.after(
        request.timeouts.totalMs,
        process,
        `#${process.id} request times out`,
        () => fail("timeout", "TIMEOUT"),
        () => signal.removeEventListener("abort", onAbort),
      );
      if (signal.aborted) {
        onAbort();
        return;
      }
      if (options.isClockWrong()) {
        later(dice.between(5, 50), process, "handshake fails", () => fail("tls", "CERT_NOT_YET_VALID"));
        return;
      }

      const weather = network.weather(request);
      switch (weather.kind) {
        case "fair":
          arrive((given) => answer(dice.between(1, WAY_MS), given));
          break;
        case "unreachable":
          later(dice.between(1, 2000), process, weather.code, () => fail(weather.reason, weather.code));
          break;
        case "hangs":
          if (weather.arrives) arrive(() => {});
          break;
        case "answer-lost":
          arrive(() => later(dice.between(1, 500), process, "answer lost", () => fail("reset", "ECONNRESET")));
          break;
        case "answers":
          answer(
            dice.between(1, 2 * WAY_MS),
            answerFrom(weather, request.headers["authorization"]?.replace("Bearer ", "") ?? ""),
          );
          break;
        case "foreign-robot":
          arrive((given) => {
            // An agent can notice it here only: an enrolment is the source of the name.
            if (!request.url.endsWith("/v1/robots/setup")) return answer(dice.between(1, WAY_MS), given);
            const text = new TextDecoder().decode(given.body).replaceAll(/"name":"[^"]*"/g, '"name":"somebody-else"');
            answer(dice.between(1, WAY_MS), answerOf(given.status, given.headers, text));
          });
          break;
      }
    });
  }

  const network: Network = {
    weather: () => ({ kind: "fair" }),
    transportFor(process) {
      const closing = new AbortController();
      return {
        prepare() {},
        send: (request, signal) => carry(process, request, AbortSignal.any([signal, closing.signal])),
        async close() {
          closing.abort();
        },
      };
    },
  };
  return network;
}
