import type { ServerResponse } from "node:http";

import type { Clock } from "../../../platform/clock.ts";
import type { Owner } from "../auth/authenticate.ts";
import type { Answer } from "../http/answers.ts";
import { refuse } from "../http/answers.ts";
import { createTimeSlices } from "./let-others-in.ts";
import type { Limit } from "./limit.ts";
import type { LimitsMet } from "./limits-met.ts";
import type { HttpLimits } from "./limits.ts";
import type { Client, Party } from "./parties.ts";
import { createTally, identifyClient } from "./parties.ts";
import { createTurns } from "./turns.ts";

/** Answers up to here fit into what the kernel keeps for every connection. */
const SMALL_ANSWER_BYTES = 16 * 1024;
/** Bodies up to here are read in less than two milliseconds. */
const SMALL_BODY_BYTES = 4 * 1024;
const LIMITS: Readonly<Record<Party, Limit>> = {
  credential: "limits.in_flight_mib.credential",
  network: "limits.in_flight_mib.address",
  site: "limits.in_flight_mib.site",
  all: "limits.in_flight_mib.all",
};
/** Seconds after which there is room again, likely. */
const RETRY_AFTER_S = "1";

/** Counts the bytes of requests and answers that are on their way, so that no client fills the memory by being slow. */
export interface Traffic {
  /**
   * Resolves when a request may be looked at, senders in turn, as few in each turn of the event loop as keep it short; false where too many
   * wait. Each takes a part of a millisecond before it waits for anything, and hundreds may arrive at once.
   *
   * @param address of the client
   */
  arrive(address: string): Promise<boolean>;
  /** Counts a request from before its body is read until its work and its answer are over; a refusal where there is no room for the body. */
  begin(client: Client, bodyBytes: number, response: ServerResponse, owner?: Owner | null): Passage | Answer;
}

/** One request and its answer. */
export interface Passage {
  /**
   * Does the work of the request when its turn has come; null where too many wait. It counts until then, also where its client is gone.
   *
   * @param whose organization, or the address of a request that is nobody's.
   */
  work<T>(whose: string, job: () => Promise<T>): Promise<T | null>;
  /**
   * Reads the body. Large ones are read one after the other, senders in turn, and other requests are looked at in between: each takes
   * milliseconds, and a hundred may arrive at once. Those that are read without a pause share a commit. Null where too many wait,
   * or nobody waits for the answer any more.
   */
  read<T>(work: () => T): Promise<T | null>;
  /** The body is done with, and so many bytes are to be sent; a refusal where there is no room for them. */
  answer(bytes: number): Answer | null;
  /** The same of an answer that has to be sent, because it tells what was changed. */
  report(bytes: number): void;
  /** Everything up to now is taken, and as much again is to be sent. */
  goOn(): void;
}

type TrafficLimits = Pick<HttpLimits, "inFlightBytes" | "answerBytesPerS" | "answerPatienceMs" | "requests">;

export function createTraffic(
  { inFlightBytes, answerBytesPerS, answerPatienceMs, requests: requestLimits }: TrafficLimits,
  limitsMet: Pick<LimitsMet, "note">,
  clock: Pick<Clock, "monotonicMs">,
): Traffic {
  const tally = createTally(inFlightBytes);
  /** Requests that wait to be begun, and bodies that wait to be read. */
  const steps = createTurns({ own: requestLimits.own, all: requestLimits.all });
  const requests = createTurns(requestLimits);
  const yieldWhenDue = createTimeSlices(clock);

  function refuseFull(party: Party, client: Client, owner: Owner | null): Answer {
    limitsMet.note(LIMITS[party], {
      organizationId: owner?.organization_id ?? null,
      party: (party === "credential" ? owner?.credential_id : null) ?? client[party === "site" ? party : "network"],
    });
    const headers = { "retry-after": RETRY_AFTER_S };
    if (party === "all") return refuse("Unavailable", "Too many large requests are being worked on", headers);
    const whose = party === "credential" ? "credential" : "address";
    return refuse("RateLimited", `Too many large requests of this ${whose} are being worked on`, headers);
  }

  function step<T>(whose: string, work: () => T): Promise<T | null> {
    return steps.take(whose, async () => {
      await yieldWhenDue();
      return work();
    });
  }

  return {
    async arrive(address) {
      const { site } = identifyClient(undefined, address);
      if ((await step(site, () => true)) !== null) return true;
      limitsMet.note("limits.waiting_requests", { organizationId: null, party: site });
      return false;
    },
    begin(client, bodyBytes, response, owner = null) {
      const share = tally.open(client);
      const full = share.tryResize(bodyBytes);
      if (full !== null) return refuseFull(full, client, owner);
      let deadline: NodeJS.Timeout | undefined;
      let isWorking = false;
      response.once("close", () => {
        clearTimeout(deadline);
        if (!isWorking) share.resize(0);
      });
      const report = (bytes: number) => {
        const isCounted = bytes > SMALL_ANSWER_BYTES && !response.destroyed;
        share.resize(isCounted ? bytes : 0);
        if (!isCounted) return;
        deadline = setTimeout(() => response.destroy(), answerPatienceMs + (bytes / answerBytesPerS) * 1000);
      };
      return {
        async work(whose, job) {
          isWorking = true;
          try {
            const worked = await requests.take(whose, job);
            if (worked === null) {
              const organizationId = owner?.organization_id ?? null;
              limitsMet.note("limits.waiting_requests", { organizationId, party: whose });
            }
            return worked;
          } finally {
            isWorking = false;
            if (response.destroyed) share.resize(0);
          }
        },
        async read(work) {
          if (bodyBytes <= SMALL_BODY_BYTES) return work();
          return step(client.credential ?? client.network, () => (response.destroyed ? null : work()));
        },
        answer(bytes) {
          const party = bytes > SMALL_ANSWER_BYTES ? share.tryResize(bytes) : null;
          if (party !== null) return refuseFull(party, client, owner);
          report(bytes);
          return null;
        },
        report,
        goOn: () => deadline?.refresh(),
      };
    },
  };
}
