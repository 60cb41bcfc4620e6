import type { FastifyRequest } from "fastify";

import { redactBeginning } from "../redact.ts";
import { templateOf } from "./routing.ts";

/** Characters of a path that go into the log. */
const LOGGED_PATH_LENGTH = 200;
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"]);
/** Where a request names the whole address of the service (RFC 9112, 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?]*/i;

/** The path that was asked for, without its query. */
export function pathOf({ url }: Pick<FastifyRequest, "url">): string {
  const path = url.split("?", 1)[0] ?? "";
  return path.startsWith("/") ? path : path.replace(ORIGIN, "");
}

/** The path, cut for the log, and without the credentials that people paste in the wrong place. */
export function loggedPath(request: Pick<FastifyRequest, "url">): string {
  return redactBeginning(pathOf(request)).slice(0, LOGGED_PATH_LENGTH);
}

/** The method, for a metric: few values, whatever clients send. */
export function methodLabel({ method }: Pick<FastifyRequest, "method">): string {
  return METHODS.has(method) ? method : "other";
}

/** Template of the path, for a metric; `none` where nobody answers. */
export function routeLabel({ is404, routeOptions }: Pick<FastifyRequest, "is404" | "routeOptions">): string {
  return is404 || routeOptions.url === undefined ? "none" : templateOf(routeOptions.url);
}
