import type { IncomingMessage } from "node:http";

import type { FastifyRequest } from "fastify";

import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log/log.ts";
import type { Random } from "../../../platform/random.ts";
import { redactBeginning } from "../redact.ts";
import { templateOf } from "./routing.ts";

/** Characters of a path that go into the log. */
const LOGGED_PATH_LENGTH = 200;
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"]);
/** A request target in absolute form (RFC 9112, 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?]*/i;

/** The requested path, without its query or fragment. */
export function pathOf({ url }: Pick<FastifyRequest, "url">): string {
  const path = url.split(/[?#]/, 1)[0] ?? "";
  return path.startsWith("/") ? path : path.replace(ORIGIN, "");
}

/** The path for the log: shortened, and without credentials pasted into it by mistake. */
export function loggedPath(request: Pick<FastifyRequest, "url">): string {
  return redactBeginning(pathOf(request)).slice(0, LOGGED_PATH_LENGTH);
}

/** The method as a metric label, with a fixed set of values. */
export function methodLabel({ method }: Pick<FastifyRequest, "method">): string {
  return METHODS.has(method) ? method : "other";
}

/** Template of the path as a metric label; `none` for an unknown path. */
export function routeLabel({ is404, routeOptions }: Pick<FastifyRequest, "is404" | "routeOptions">): string {
  return is404 || routeOptions.url === undefined ? "none" : templateOf(routeOptions.url);
}

/** What a client may choose as its request id; anything else gets one of ours. */
const ACCEPTED = /^[A-Za-z0-9._-]{1,64}$/;
const ID_BYTES = 12;
/** Drawn together, because drawing random bytes takes longer than all else that an empty answer needs of this file. */
const IDS_DRAWN = 64;

/** The id under which a request is found in the log: the client's `X-Request-Id` where it can be, else a new one. */
export function createRequestId(random: Random): (request: Pick<IncomingMessage, "headers">) => string {
  let drawn = "";
  return ({ headers }) => {
    const given = headers["x-request-id"];
    if (typeof given === "string" && ACCEPTED.test(given)) return given;
    if (drawn === "") drawn = Buffer.from(random.bytes(IDS_DRAWN * ID_BYTES)).toString("hex");
    const id = drawn.slice(0, 2 * ID_BYTES);
    drawn = drawn.slice(2 * ID_BYTES);
    return id;
  };
}

/** Shortest time between two log lines: a thousand failing requests a second must not log a thousand lines. */
const OUTAGE_PERIOD_MS = 10_000;

/** Logs requests that failed because of the store: the first at once, later ones as a count. */
export function createOutageLog({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  let loggedMs = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (requestId: string, reason: string): void => {
    unlogged += 1;
    if (clock.monotonicMs() - loggedMs < OUTAGE_PERIOD_MS) return;
    log.error("store_unavailable", { request_id: requestId, reason, requests: unlogged });
    loggedMs = clock.monotonicMs();
    unlogged = 0;
  };
}
