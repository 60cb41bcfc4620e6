import { SECTIONS } from "../sections.ts";

/** Existing clients send the operator who approves a robot computer to this path. */
const ENROLMENTS_OF_CLIENTS = "/account/robot";

/** Every path that answers with the page's HTML, as Fastify route patterns. The page reads the path and renders accordingly. */
export const PAGE_PATHS: readonly string[] = [
  "/",
  "/login",
  ENROLMENTS_OF_CLIENTS,
  ...SECTIONS.flatMap((section) => [`/${section}`, `/${section}/*`]),
];

export const ASSET_PATH = "/console/assets/:name";
export const SESSION_PATH = "/console/session";
export const VERSIONS_PATH = "/console/versions";
export const LOGIN_PATH = "/console/logins/{exchange_id}";

/** Methods by path; the first match counts. */
const METHODS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^\/(?:login)?$/, ["GET", "HEAD"]],
  [/^\/account\/robot$/, ["GET", "HEAD"]],
  [new RegExp(`^/(?:${SECTIONS.join("|")})(?:/|$)`), ["GET", "HEAD"]],
  [/^\/console\/assets\/[^/]+$/, ["GET", "HEAD"]],
  [/^\/console\/logins\/[^/]+$/, ["GET", "HEAD"]],
  [/^\/console\/session$/, ["POST", "DELETE"]],
  [/^\/console\/versions$/, ["GET", "HEAD"]],
];

/** Whether to answer an unknown path with the HTML page: only browsers accept HTML, and /v1 always answers JSON. */
export function isForPage(method: string, path: string, accept: string | undefined): boolean {
  const isRead = method === "GET" || method === "HEAD";
  return isRead && !/^\/(?:v1(?:\/|$)|console\/.)/.test(path) && (accept ?? "").toLowerCase().includes("text/html");
}

/** The methods that a path of the console allows; empty for other paths. */
export function consoleMethodsAt(path: string): readonly string[] {
  return METHODS.find(([pattern]) => pattern.test(path))?.[1] ?? [];
}
