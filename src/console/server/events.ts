import type { ServerResponse } from "node:http";

import type { FastifyInstance } from "fastify";

import { authenticate, listenerArrivalOf, refuseUnavailable, send, storeTag } from "../../service/console-door.ts";
import type { Credential, MountContext, Principal } from "../../service/console-door.ts";
import { createChangeFeed } from "./change-feed.ts";
import { CHANGE_TOPICS, readableTopics } from "./change-topics.ts";
import type { ChangeTopic } from "./change-topics.ts";
import { EVENTS_PATH } from "./console-paths.ts";
import { createCredentialWatch } from "./credential-watch.ts";
import { whoMakesRoom } from "./places.ts";
import type { PlaceLimits } from "./places.ts";

/** How often it is looked for credentials that have ended. */
const TICK_MS = 500;
/** How often a page hears that the service is there: one that misses a sign asks, and tells the person within five seconds. */
const TICKS_PER_BEAT = 4;
/** How often the session of each page is noted as used. */
const TICKS_PER_VISIT = 32;
/** What is written and not yet taken. A page that is so far behind is gone, or soon asks for everything again. */
const UNREAD_BYTES_MAXIMUM = 16 * 1024;
/** What a browser waits before it connects again. */
const RETRY_MS = 3000;

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
  // nginx would collect a stream until a buffer is full.
  "x-accel-buffering": "no",
} as const;

/** A page that listens. */
interface Listening {
  readonly principal: Principal;
  readonly credential: Credential;
  readonly response: ServerResponse;
  /** Whether the head of the answer is out. */
  isOpen: boolean;
}

/**
 * `GET /console/events`: a stream of server-sent events (html.spec.whatwg.org, 9.2). `changed` names the kinds of things that are to be
 * asked for again, as far as the credential may ask for them, and nothing of what they are; `ended` comes last where the credential has
 * ended. Where there is no place for another stream, an older one is closed.
 *
 * `?since=` is what the store was (`storeTag`) before the page asked for anything: what changed until it listens, it is told at once.
 */
export function mountEvents(
  app: FastifyInstance,
  context: MountContext,
  limits: PlaceLimits,
  stopping: AbortSignal,
): void {
  const { gate, store, machine, lastUsed, limitsMet } = context;
  const { clock } = machine;
  const feed = createChangeFeed(store, machine, stopping);
  const listening = new Set<Listening>();
  const watch = createCredentialWatch(store, machine, listening, end);
  let isAttending = false;
  let isVisiting = false;

  app.route({
    method: "GET",
    url: EVENTS_PATH,
    // Who asks for the head alone would be kept waiting for ever.
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const arrival = listenerArrivalOf(request);
      const admission = await gate.admit("any", arrival);
      if (admission.state === "refused") return send(reply, admission.answer);
      const { principal, headers } = admission;
      const { credential } = arrival;
      if (principal === null || credential === null) throw new Error("Nobody was admitted to the events");
      // Whoever has left meanwhile closes nothing any more, and would keep a place for ever.
      if (reply.raw.destroyed) return reply.hijack();
      if (stopping.aborted) return send(reply, refuseUnavailable("The service is stopping"));

      const one: Listening = { principal, credential, response: reply.raw, isOpen: false };
      const leaving = whoMakesRoom([...listening], one, limits);
      if (leaving !== null) {
        const { organization_id: organizationId, credential_id: party } = leaving.principal;
        limitsMet.note("limits.streams", { organizationId, party });
        close(leaving);
      }
      listening.add(one);
      one.response.once("close", () => listening.delete(one));
      const open = () => {
        if (one.isOpen) return;
        one.isOpen = true;
        reply.hijack();
        one.response.writeHead(200, { ...headers, ...HEADERS, "x-request-id": request.id });
        write(one, `retry: ${RETRY_MS}\n\n`);
      };
      const tell = (changed: readonly ChangeTopic[]) => {
        const topics = readableTopics(changed, principal);
        if (topics.length === 0) return;
        // As early as the look that this page begins with.
        open();
        write(one, `event: changed\ndata: ${JSON.stringify({ topics })}\n\n`);
      };
      try {
        const stop = await feed.listen(principal.organization_id, tell);
        if (one.response.destroyed) stop();
        else one.response.once("close", stop);
      } catch (error) {
        listening.delete(one);
        throw error;
      }
      open();
      const since = new URL(request.url, "http://service").searchParams.get("since");
      if (since !== null && since !== (await storeTag(store, principal).catch(() => null))) tell(CHANGE_TOPICS);
      if (stopping.aborted || !listening.has(one)) one.response.end();
      else if (!isAttending) void attend();
      return reply;
    },
  });

  stopping.addEventListener("abort", () => {
    // Those that are not open yet end as soon as they are.
    for (const { response, isOpen } of listening) if (isOpen) response.end();
  });

  /** One that is not open yet ends as soon as it is. */
  function close(one: Listening): void {
    listening.delete(one);
    if (!one.isOpen) return;
    one.response.end();
    // Who does not read would keep the connection.
    if (one.response.writableLength > 0) one.response.destroy();
  }

  function end(one: Listening): void {
    if (one.isOpen) write(one, "event: ended\ndata: {}\n\n");
    close(one);
  }

  async function attend(): Promise<void> {
    isAttending = true;
    for (let ticks = 1; listening.size > 0 && !stopping.aborted; ticks += 1) {
      await clock.sleep(TICK_MS, stopping).catch(() => {});
      // Not waited for, as the visits: a store that does not answer holds back no sign.
      void watch.look();
      if (ticks % TICKS_PER_BEAT === 0) beat();
      if (ticks % TICKS_PER_VISIT === 0) void visitAll();
    }
    isAttending = false;
  }

  function beat(): void {
    // A script hears nothing of an event without data, nor of a comment.
    for (const one of listening) if (one.isOpen) write(one, "event: beat\ndata: {}\n\n");
  }

  async function visitAll(): Promise<void> {
    if (isVisiting) return;
    isVisiting = true;
    for (const one of listening) await visit(one);
    isVisiting = false;
  }

  /** A page that listens is in use. Its session may have been idle for too long all the same, by the clock of another replica. */
  async function visit(one: Listening): Promise<void> {
    // Where the store does not answer, the next visit finds out.
    const authentication = await authenticate(store.lookup, clock, one.credential).catch(() => null);
    if (!one.isOpen) return;
    if (authentication?.state === "unauthorized") return end(one);
    lastUsed.note(one.principal);
  }
}

function write({ response }: Listening, text: string): void {
  if (response.writableEnded || response.destroyed) return;
  response.write(text);
  if (response.writableLength > UNREAD_BYTES_MAXIMUM) response.destroy();
}
