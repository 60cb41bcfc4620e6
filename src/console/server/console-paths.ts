/** Pages of the console that have pages of their own below them. */
const SECTIONS = ["robots", "fleets", "models", "deployments", "keys", "usage", "audit"] as const;

/** Where the browser gets the page, which then shows what the path says; in the web framework's notation. */
export const PAGE_PATHS: readonly string[] = [
  "/",
  "/login",
  ...SECTIONS.flatMap((section) => [`/${section}`, `/${section}/*`]),
];

export const ASSET_PATH = "/console/assets/:name";
export const SESSION_PATH = "/console/session";
export const EVENTS_PATH = "/console/events";
export const LOGIN_PATH = "/console/logins/{exchange_id}";

/** What the console's paths answer, in the order they are tried. */
const METHODS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^\/(?:login)?$/, ["GET", "HEAD"]],
  [new RegExp(`^/(?:${SECTIONS.join("|")})(?:/|$)`), ["GET", "HEAD"]],
  [/^\/console\/assets\/[^/]+$/, ["GET", "HEAD"]],
  [/^\/console\/logins\/[^/]+$/, ["GET", "HEAD"]],
  [/^\/console\/session$/, ["POST", "DELETE"]],
  [/^\/console\/events$/, ["GET"]],
];

/** Whether a person in a browser asked for a path that is nobody's: API clients do not take HTML, and /v1 is for them alone. */
export function isForPage(method: string, path: string, accept: string | undefined): boolean {
  const isRead = method === "GET" || method === "HEAD";
  return isRead && !/^\/(?:v1(?:\/|$)|console\/.)/.test(path) && (accept ?? "").toLowerCase().includes("text/html");
}

/** The methods a path of the console answers to; empty for a path that is not the console's. */
export function consoleMethodsAt(path: string): readonly string[] {
  return METHODS.find(([pattern]) => pattern.test(path))?.[1] ?? [];
}
