/**
 * The address of an operation under the service's own, which may have a path in front.
 *
 * @param path with parameters written `{like_this}`; each is one segment, whatever characters are in it.
 * @throws RangeError for a parameter no path can hold: empty, `.` or `..` (RFC 3986 section 5.2.4). Whoever takes it from
 * a person checks that first.
 */
export function operationUrl(base_url: string, path: string, parameters: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => segment(parameters[name] ?? ""));
  return base_url.replace(/\/+$/, "") + filled;
}

function segment(parameter: string): string {
  if (parameter === "" || parameter === "." || parameter === "..") {
    throw new RangeError(`Cannot put ${JSON.stringify(parameter)} into a path`);
  }
  return encodeURIComponent(parameter);
}
