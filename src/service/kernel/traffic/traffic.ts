import type { ServerResponse } from "node:http";

import type { Clock } from "../../../platform/clock.ts";
import type { Owner } from "../auth/authenticate.ts";
import { type Answer, refuse } from "../http/answers.ts";
import { createTimeSlices } from "./event-loop.ts";
import type { HttpLimits, Limit } from "./limits.ts";
import type { LimitsMet } from "./limits-met.ts";
import { type Client, createTally, identifyClient, type Party } from "./parties.ts";
import { createFairQueue, type FairQueue } from "./fair-queue.ts";
import { measureWork, runForRequester } from "./requester.ts";
import { createWorkBudget } from "./work-budget.ts";

/** Answers up to this size fit into the kernel's send buffer of a connection. */
const SMALL_ANSWER_BYTES = 16 * 1024;
/** Bodies up to this size are parsed in less than two milliseconds. */
const SMALL_BODY_BYTES = 4 * 1024;
const LIMITS: Readonly<Record<Party, Limit>> = {
  credential: "limits.in_flight_mib.credential",
  network: "limits.in_flight_mib.address",
  site: "limits.in_flight_mib.site",
  all: "limits.in_flight_mib.all",
};
/** Queries of lists that wait, and that run beside each other: the rows of many, read in one turn of the event loop, would block all requests. */
const ROW_QUERIES = { own: 256, all: 4096, allAtOnce: 4 } as const;
/** Seconds after which there is probably room again. */
const RETRY_AFTER_S = "1";

/** Counts the bytes of requests and answers in flight, so that slow clients cannot exhaust memory. */
export interface Traffic {
  /**
   * Waits until a request may begin; false when too many wait. Requests begin round-robin over sites, and few in each turn of the event
   * loop: each takes part of a millisecond before its first await, and hundreds may arrive at once.
   *
   * @param address of the client.
   */
  arrive(address: string): Promise<boolean>;
  /**
   * Counts a request from before its body is read until it is handled and answered; a refusal when there is no room for the body, or when
   * the owner's organization has taken too much time of the service.
   */
  begin(client: Client, bodyBytes: number, response: ServerResponse, owner?: Owner | null): Passage | Answer;
  /** Queries rows of a list, round-robin over organizations; null when too many queries wait. */
  readonly readRows: FairQueue["run"];
}

/** One request and its answer. */
export interface Passage {
  /**
   * Runs the job of the request when it is its turn; null when too many wait. The request counts until the job ends, also when its client
   * has disconnected.
   *
   * @param requester id of the organization, or the address of a request without credential.
   */
  work<T>(requester: string, job: () => Promise<T>): Promise<T | null>;
  /**
   * Parses the body. Large ones are parsed one after the other, round-robin over clients, and other requests begin in between: each takes
   * milliseconds, and a hundred may arrive at once. Those parsed without a pause share a commit. Null when too many wait, or when the
   * client has disconnected.
   */
  read<T>(parse: () => T): Promise<T | null>;
  /** Counts an answer of this size instead of the body; a refusal when there is no room for it. */
  answer(bytes: number): Answer | null;
  /** Counts an answer that must be sent even without room, because it reports a change. */
  report(bytes: number): void;
  /** Restarts the client's time limit: it has taken everything sent so far. */
  extend(): void;
}

type TrafficLimits = Pick<HttpLimits, "inFlightBytes" | "answerBytesPerS" | "answerPatienceMs" | "requests" | "workMs">;

export function createTraffic(
  { inFlightBytes, answerBytesPerS, answerPatienceMs, requests: requestLimits, workMs }: TrafficLimits,
  limitsMet: Pick<LimitsMet, "note">,
  clock: Pick<Clock, "monotonicMs">,
): Traffic {
  const tally = createTally(inFlightBytes);
  const workBudget = createWorkBudget(workMs, clock);
  /** Requests that wait to begin, and bodies that wait to be parsed. */
  const steps = createFairQueue({ own: requestLimits.own, all: requestLimits.all });
  const requests = createFairQueue(requestLimits);
  const yieldWhenDue = createTimeSlices(clock);

  function refuseFull(party: Party, client: Client, owner: Owner | null): Answer {
    limitsMet.note(LIMITS[party], {
      organizationId: owner?.organizationId ?? null,
      party: (party === "credential" ? owner?.credentialId : null) ?? client[party === "site" ? party : "network"],
    });
    const headers = { "retry-after": RETRY_AFTER_S };
    if (party === "all") return refuse("Unavailable", "Too many large requests are being worked on", headers);
    const whose = party === "credential" ? "credential" : "address";
    return refuse("RateLimited", `Too many large requests of this ${whose} are being worked on`, headers);
  }

  function noteWaiting(party: string, organizationId: string | null): void {
    limitsMet.note("limits.waiting_requests", { organizationId, party });
  }

  function step<T>(requester: string, work: () => T): Promise<T | null> {
    return steps.run(requester, async () => {
      await yieldWhenDue();
      return work();
    });
  }

  return {
    readRows: createFairQueue(ROW_QUERIES).run,
    async arrive(address) {
      const { site } = identifyClient(undefined, address);
      if ((await step(site, () => true)) !== null) return true;
      noteWaiting(site, null);
      return false;
    },
    begin(client, bodyBytes, response, owner = null) {
      const organizationId = owner?.organizationId ?? null;
      if (organizationId !== null) {
        const refusal = workBudget.refusal(organizationId);
        if (refusal !== null) {
          limitsMet.note("limits.work_ms", { organizationId, party: organizationId });
          return refusal;
        }
      }
      const beginWork = organizationId === null ? undefined : workBudget.measure(organizationId);
      const share = tally.open(client);
      // The response of a client that left during admission emits no further "close".
      const full = share.tryResize(response.destroyed ? 0 : bodyBytes);
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
        async work(requester, job) {
          isWorking = true;
          try {
            const worked = await requests.run(requester, () => runForRequester(requester, job, beginWork));
            if (worked === null) noteWaiting(requester, organizationId);
            return worked;
          } finally {
            isWorking = false;
            if (response.destroyed) share.resize(0);
          }
        },
        async read(parse) {
          if (bodyBytes <= SMALL_BODY_BYTES) return measureWork(parse);
          const body = await step(client.credential ?? client.network, () => ({
            parsed: response.destroyed ? null : measureWork(parse),
          }));
          if (body === null) noteWaiting(owner?.credentialId ?? client.network, organizationId);
          return body?.parsed ?? null;
        },
        answer(bytes) {
          const party = bytes > SMALL_ANSWER_BYTES ? share.tryResize(bytes) : null;
          if (party !== null) return refuseFull(party, client, owner);
          report(bytes);
          return null;
        },
        report,
        extend: () => deadline?.refresh(),
      };
    },
  };
}
