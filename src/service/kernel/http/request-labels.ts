import type { IncomingMessage } from "node:http";

import type { FastifyRequest } from "fastify";

import { redactBeginning } from "../redact.ts";
import { templateOf } from "./routing.ts";
import type { Random } from "../../../platform/random.ts";

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

/** The id under which a request is found in the log: the client's `X-Request-Id` where it can be, else a new one. */
export function createRequestId(random: Random): (request: Pick<IncomingMessage, "headers">) => string {
  return ({ headers }) => {
    const given = headers["x-request-id"];
    if (typeof given === "string" && ACCEPTED.test(given)) return given;
    return Buffer.from(random.bytes(ID_BYTES)).toString("hex");
  };
}
