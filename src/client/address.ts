/**
 * The URL of an operation below the service's address, which may have a path.
 *
 * @param path with parameters written `{like_this}`; each becomes one escaped segment.
 * @throws RangeError for a parameter that cannot be a segment (RFC 3986 section 5.2.4); check input with `isPathParameter` first.
 */
export function operationUrl(baseUrl: string, path: string, parameters: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => segment(parameters[name] ?? ""));
  return baseUrl.replace(/\/+$/, "") + filled;
}

/** Whether a text can be one segment of a path: not empty, not `.` or `..`, and without a lone surrogate, which UTF-8 cannot encode. */
export function isPathParameter(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && text.isWellFormed();
}

function segment(parameter: string): string {
  if (!isPathParameter(parameter)) {
    throw new RangeError(`Cannot put ${JSON.stringify(parameter)} into a path`);
  }
  return encodeURIComponent(parameter);
}
