/**
 * The address of an operation under the service's own, which may have a path in front.
 *
 * @param path with parameters written `{like_this}`; each is one segment, whatever characters are in it.
 * @throws RangeError for a parameter no path can hold (RFC 3986 section 5.2.4). Whoever takes it from a person or a
 * service checks that first: `isPathParameter`.
 */
export function operationUrl(baseUrl: string, path: string, parameters: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => segment(parameters[name] ?? ""));
  return baseUrl.replace(/\/+$/, "") + filled;
}

/** Whether a path can hold it as one segment: not empty, not `.` or `..`, and no half of a character, which UTF-8 cannot write. */
export function isPathParameter(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && text.isWellFormed();
}

function segment(parameter: string): string {
  if (!isPathParameter(parameter)) {
    throw new RangeError(`Cannot put ${JSON.stringify(parameter)} into a path`);
  }
  return encodeURIComponent(parameter);
}
