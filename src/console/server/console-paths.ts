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

const READ = ["GET", "HEAD"] as const;
/** The paths that are read: those of the page, and of what it asks for. */
const READ_PATH = new RegExp(
  `^/(?:login|account/robot|(?:${SECTIONS.join("|")})(?:/.*)?|console/(?:versions|(?:assets|logins)/[^/]+))?$`,
);

/** Whether to answer an unknown path with the HTML page: only browsers accept HTML, and /v1 always answers JSON. */
export function isForPage(method: string, path: string, accept: string | undefined): boolean {
  return (
    (method === "GET" || method === "HEAD") &&
    !/^\/(?:v1(?:\/|$)|console\/.)/.test(path) &&
    (accept ?? "").toLowerCase().includes("text/html")
  );
}

/** The methods that a path of the console allows; empty for other paths. */
export function consoleMethodsAt(path: string): readonly string[] {
  if (path === SESSION_PATH) return ["POST", "DELETE"];
  return READ_PATH.test(path) ? READ : [];
}
