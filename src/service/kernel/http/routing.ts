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

/**
 * Paths of operations that would also match a path parameter of another operation, and its methods: `GET /v1/robots/setup` is not the
 * robot called "setup".
 */
export function shadowedPaths(): readonly {
  readonly path: string;
  readonly methods: readonly Operation["method"][];
}[] {
  return [...new Set(OPERATIONS.map(({ path }) => path))].flatMap((path) => {
    const own = methodsAt(path);
    const parts = partsOf(path);
    const others = OPERATIONS.filter((operation) => operation.path !== path && matches(operation.path, parts));
    const methods = others.map(({ method }) => method).filter((method) => !own.includes(method));
    return methods.length === 0 || path.includes("{") ? [] : [{ path, methods }];
  });
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
