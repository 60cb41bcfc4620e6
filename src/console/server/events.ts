import type { ServerResponse } from "node:http";

import type { FastifyInstance } from "fastify";

import {
  authenticate,
  type Credential,
  listenerArrivalOf,
  type MountContext,
  type Principal,
  refuseUnavailable,
  send,
  storeTag,
} from "../../service/console-door.ts";
import { createChangeFeed } from "./change-feed.ts";
import { type Topic, TOPICS } from "../topics.ts";
import { readableTopics } from "./change-topics.ts";
import { EVENTS_PATH } from "./console-paths.ts";
import { createCredentialWatch } from "./credential-watch.ts";
import { type StreamLimits, streamToClose } from "./stream-limits.ts";

/** How often credentials are checked. */
const TICK_MS = 500;
/** How often each page receives a heartbeat. A page that misses one shows within five seconds that the service is unreachable. */
const TICKS_PER_BEAT = 4;
/** How often each stream's session is authenticated again and noted as used. */
const TICKS_PER_AUTHENTICATION = 32;
/** Bytes written but not yet sent. A page so far behind is gone, or reconnects and fetches everything again. */
const UNREAD_BYTES_MAXIMUM = 16 * 1024;
/** The browser's delay before it reconnects. */
const RETRY_MS = 3000;

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
  // nginx buffers responses otherwise.
  "x-accel-buffering": "no",
} as const;

interface EventStream {
  readonly principal: Principal;
  readonly credential: Credential;
  readonly response: ServerResponse;
  /** Whether the response headers are sent. */
  isOpen: boolean;
}

/**
 * `GET /console/events`: a stream of server-sent events (html.spec.whatwg.org, 9.2). `changed` names the topics to fetch again, limited
 * to those that the credential may read, without any data; `ended` is the last event when the credential ends. At the limit of streams,
 * an older one is closed.
 *
 * `?since=` is the `storeTag` from before the page's first request. If the store has changed since then, the page receives `changed` at
 * once.
 */
export function mountEvents(
  app: FastifyInstance,
  context: MountContext,
  limits: StreamLimits,
  onlineWindowMs: number,
  stopping: AbortSignal,
): void {
  const { gate, store, machine, lastUsed, limitMet } = context;
  const { clock } = machine;
  const feed = createChangeFeed(store, machine, onlineWindowMs, stopping);
  const streams = new Set<EventStream>();
  const checkCredentials = createCredentialWatch(store, machine, streams, end);
  let isTicking = false;
  let isAuthenticating = false;

  app.route({
    method: "GET",
    url: EVENTS_PATH,
    // A HEAD request would never be answered.
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const arrival = listenerArrivalOf(request);
      const admission = await gate.admit({ scopes: "any" }, arrival);
      if (admission.state === "refused") return send(reply, admission.answer);
      const { principal, headers } = admission;
      const { credential } = arrival;
      if (principal === null || credential === null) throw new Error("Nobody was admitted to the events");
      // A connection that is closed already emits no further "close", so its stream would never be removed.
      if (reply.raw.destroyed) return reply.hijack();
      if (stopping.aborted) return send(reply, refuseUnavailable("The service is stopping"));

      const stream: EventStream = { principal, credential, response: reply.raw, isOpen: false };
      const replaced = streamToClose([...streams], stream, limits);
      if (replaced !== null) {
        limitMet("limits.streams");
        close(replaced);
      }
      streams.add(stream);
      stream.response.once("close", () => streams.delete(stream));
      const open = () => {
        if (stream.isOpen) return;
        stream.isOpen = true;
        reply.hijack();
        stream.response.writeHead(200, { ...headers, ...HEADERS, "x-request-id": request.id });
        write(stream, `retry: ${RETRY_MS}\n\n`);
      };
      const sendChanged = (changed: readonly Topic[]) => {
        const topics = readableTopics(changed, principal);
        if (topics.length === 0) return;
        // The feed may report a change before `listen` resolves.
        open();
        write(stream, `event: changed\ndata: ${JSON.stringify({ topics })}\n\n`);
      };
      try {
        const stop = await feed.listen(principal.organizationId, sendChanged);
        if (stream.response.destroyed) stop();
        else stream.response.once("close", stop);
      } catch (error) {
        close(stream);
        if (!stream.isOpen) throw error;
        return reply;
      }
      open();
      const since = new URL(request.url, "http://service").searchParams.get("since");
      if (since !== null && since !== (await storeTag(store, principal).catch(() => null))) sendChanged(TOPICS);
      if (stopping.aborted || !streams.has(stream)) stream.response.end();
      else if (!isTicking) void runTicks();
      return reply;
    },
  });

  stopping.addEventListener("abort", () => {
    // A stream that is not open yet ends when it opens.
    for (const { response, isOpen } of streams) if (isOpen) response.end();
  });

  function close(stream: EventStream): void {
    streams.delete(stream);
    if (!stream.isOpen) return;
    stream.response.end();
    // A client that does not read would keep the connection open.
    if (stream.response.writableLength > 0) stream.response.destroy();
  }

  function end(stream: EventStream): void {
    if (stream.isOpen) write(stream, "event: ended\ndata: {}\n\n");
    close(stream);
  }

  async function runTicks(): Promise<void> {
    isTicking = true;
    for (let ticks = 1; streams.size > 0 && !stopping.aborted; ticks += 1) {
      await clock.sleep(TICK_MS, stopping).catch(() => {});
      // Neither check is awaited: a slow store must not delay heartbeats.
      void checkCredentials();
      if (ticks % TICKS_PER_BEAT === 0) sendBeat();
      if (ticks % TICKS_PER_AUTHENTICATION === 0) void authenticateAll();
    }
    isTicking = false;
  }

  function sendBeat(): void {
    // EventSource does not report comments, nor events without data.
    for (const stream of streams) if (stream.isOpen) write(stream, "event: beat\ndata: {}\n\n");
  }

  async function authenticateAll(): Promise<void> {
    if (isAuthenticating) return;
    isAuthenticating = true;
    for (const stream of streams) await authenticateAgain(stream);
    isAuthenticating = false;
  }

  /** An open stream keeps its session in use. By the clock of another replica, the session may have idled out all the same. */
  async function authenticateAgain(stream: EventStream): Promise<void> {
    // If the store does not answer, the next round tries again.
    const authentication = await authenticate(store.lookup, clock, stream.credential).catch(() => null);
    if (!stream.isOpen) return;
    if (authentication?.state === "unauthorized") return end(stream);
    lastUsed.note(stream.principal);
  }
}

function write({ response }: EventStream, text: string): void {
  if (response.writableEnded || response.destroyed) return;
  response.write(text);
  if (response.writableLength > UNREAD_BYTES_MAXIMUM) response.destroy();
}
