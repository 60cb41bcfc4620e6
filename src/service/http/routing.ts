import { operations } from "../../api/api.ts";
import type { Operation, OperationName } from "../../api/api.ts";

/** What a path answers beside /v1. */
export const HEALTH_PATHS = ["/healthz", "/readyz"] as const;

/** The path in the web framework's notation. */
export function routePath(operation: Operation): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, ":$1");
}

/**
 * The methods a path answers to, for the `Allow` header of a 405; empty for a path that is nobody's.
 *
 * @param served the operations this service has.
 */
export function methodsAt(path: string, served: readonly OperationName[]): readonly string[] {
  if (HEALTH_PATHS.some((known) => known === path)) return ["GET", "HEAD"];
  const methods = served
    .map((name) => operations[name])
    .filter((operation) => matches(operation.path, path))
    .map(({ method }) => method);
  return methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

function matches(template: string, path: string): boolean {
  const [expected, actual] = [template.split("/"), path.split("/")];
  return (
    expected.length === actual.length &&
    expected.every((part, index) => (part.startsWith("{") ? actual[index] !== "" : part === actual[index]))
  );
}
