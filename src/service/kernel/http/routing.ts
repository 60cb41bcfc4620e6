import { allOperations } from "../../../api/api.ts";
import type { Operation } from "../../../api/wire/operation.ts";

const OPERATIONS: readonly Operation[] = Object.values(allOperations);

/** Paths outside /v1; they accept only GET. */
export const SERVICE_PATHS = ["/healthz", "/health", "/readyz", "/metrics", "/openapi.json"] as const;

/** The path in the web framework's notation. */
export function routePath(template: string): string {
  return template.replaceAll(/\{(\w+)\}/g, ":$1");
}

/** Inverse of `routePath`. */
export function templateOf(route: string): string {
  return route.replaceAll(/:(\w+)/g, "{$1}");
}

/** The methods a path answers to, for the `Allow` header of a 405; empty for an unknown path. */
export function methodsAt(path: string): readonly string[] {
  if (SERVICE_PATHS.some((known) => known === path)) return ["GET", "HEAD"];
  const exact = OPERATIONS.filter((operation) => operation.path === path);
  const parts = partsOf(path);
  const matching = exact.length > 0 ? exact : OPERATIONS.filter((operation) => matches(operation.path, parts));
  return matching.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

const WITHOUT_PARAMETERS: ReadonlySet<string> = new Set(
  OPERATIONS.map(({ path }) => path).filter((path) => !path.includes("{")),
);

/**
 * Whether the router took something else for a parameter: the empty name in `/v1/robots/`, or another operation's path, as
 * `GET /v1/robots/setup` is not the robot called "setup".
 *
 * @param path decoded.
 */
export function isMisread(parameters: unknown, path: string): boolean {
  if (typeof parameters !== "object" || parameters === null) return false;
  const values = Object.entries(parameters);
  // The wildcard of console paths may be empty.
  return (
    values.some(([name, value]) => value === "" && name !== "*") || (values.length > 0 && WITHOUT_PARAMETERS.has(path))
  );
}

/** One segment more than any template has, so that a path of thousands costs no more. */
const PARTS_MAXIMUM = 1 + Math.max(...OPERATIONS.map(({ path }) => path.split("/").length));

function partsOf(path: string): readonly string[] {
  return path.split("/", PARTS_MAXIMUM);
}

function matches(template: string, actual: readonly string[]): boolean {
  const expected = template.split("/");
  return (
    expected.length === actual.length &&
    expected.every((part, index) => (part.startsWith("{") ? actual[index] !== "" : part === actual[index]))
  );
}
