/** A cursor is short; longer headers are ignored. */
const LONGEST_HEADER = 4096;

/**
 * The cursor of the next page, from a `Link` header (RFC 8288) such as `</v1/robots?limit=2&cursor=x>; rel="next"`; null where there
 * is none. The address in the header is ignored, so that the credential is sent only to the service.
 */
export function readNextCursor(link: string | undefined): string | null {
  if (link === undefined || link.length > LONGEST_HEADER) return null;
  const next = link.split(/,(?=\s*<)/).find((value) => /;\s*rel\s*=\s*"?next"?\s*(?:;|$)/i.test(value));
  const target = /<([^>]*)>/.exec(next ?? "")?.[1];
  return target === undefined ? null : (URL.parse(target, "http://service")?.searchParams.get("cursor") ?? null);
}
