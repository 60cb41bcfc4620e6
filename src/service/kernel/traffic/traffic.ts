import type { ServerResponse } from "node:http";

import { type Answer, refuse, refuseUnavailable } from "../http/answers.ts";
import { createFairQueue } from "./fair-queue.ts";
import type { HttpLimits, Limit } from "./limits.ts";

/** Answers up to this size fit into the kernel's send buffer of a connection. */
const SMALL_ANSWER_BYTES = 16 * 1024;
/** There is probably room again after a second. */
const LATER = { "retry-after": "1" } as const;

const OWN_FULL = refuse("RateLimited", "Too many large requests of this organization or address are in flight", LATER);
const ALL_FULL = refuse("Unavailable", "Too many large requests are in flight", LATER);
const TOO_MANY_WAIT = refuseUnavailable("Too many requests are waiting");

/**
 * The way to the handlers. It bounds the memory of requests, and serves requesters in turn, so that none of them stops the others. A
 * requester is the organization of the credential, or the address of a request without one.
 */
export interface Traffic {
  /**
   * Counts the body of a request before it is read, until the request is handled and answered. Bodies and answers beyond the limit are
   * refused, so that slow clients cannot exhaust memory: the parsed form of a body takes a multiple of its bytes.
   *
   * @param isChange whether the request may change something. Then it must be answered even without room.
   */
  begin(requester: string, isChange: boolean, bodyBytes: number, response: ServerResponse): RequestInFlight | Answer;
}

/** One request and its answer. */
export interface RequestInFlight {
  /** Runs the work of the request when it is its turn; a refusal when too many wait. Its body counts meanwhile even if its client leaves. */
  work<T>(job: () => Promise<T>): Promise<T | Answer>;
  /**
   * Counts an answer of this size in place of the body.
   *
   * @returns a refusal when there is no room.
   */
  answer(bytes: number): Answer | null;
}

export function createTraffic(
  { inFlightBytes, requests }: Pick<HttpLimits, "inFlightBytes" | "requests">,
  limitMet: (limit: Limit) => void,
): Traffic {
  const reads = createFairQueue(requests.reads);
  const changes = createFairQueue(requests.changes);
  /** Bytes in flight by requester, and of all. */
  const bytesOf = new Map<string, number>();
  let allBytes = 0;

  function add(requester: string, bytes: number): void {
    allBytes += bytes;
    const own = (bytesOf.get(requester) ?? 0) + bytes;
    if (own === 0) bytesOf.delete(requester);
    else bytesOf.set(requester, own);
  }

  /** Why there is no room for so many more bytes. What is larger than a limit has room when nothing else is in flight. */
  function refusal(requester: string, bytes: number): Answer | null {
    const own = bytesOf.get(requester) ?? 0;
    if (own > 0 && own + bytes > inFlightBytes.own) {
      limitMet("limits.in_flight_mib.organization");
      return OWN_FULL;
    }
    if (allBytes > 0 && allBytes + bytes > inFlightBytes.all) {
      limitMet("limits.in_flight_mib.all");
      return ALL_FULL;
    }
    return null;
  }

  return {
    begin(requester, isChange, bodyBytes, response) {
      let counted = 0;
      let isWorking = false;

      function count(bytes: number): void {
        // Of a client that has left, no "close" follows.
        if (bytes > 0 && response.destroyed) return;
        if (bytes > 0 && counted === 0) response.once("close", () => isWorking || release());
        add(requester, bytes - counted);
        counted = bytes;
      }

      function release(): void {
        add(requester, -counted);
        counted = 0;
      }

      if (bodyBytes > 0) {
        const full = refusal(requester, bodyBytes);
        if (full !== null) return full;
        count(bodyBytes);
      }
      return {
        async work(job) {
          isWorking = true;
          try {
            const worked = await (isChange ? changes : reads).run(requester, job);
            if (worked !== null) return worked;
            limitMet("limits.waiting_requests");
            return TOO_MANY_WAIT;
          } finally {
            isWorking = false;
            if (response.destroyed && counted > 0) release();
          }
        },
        answer(bytes) {
          if (counted > 0) release();
          if (bytes <= SMALL_ANSWER_BYTES) return null;
          const full = isChange ? null : refusal(requester, bytes);
          if (full === null) count(bytes);
          return full;
        },
      };
    },
  };
}
