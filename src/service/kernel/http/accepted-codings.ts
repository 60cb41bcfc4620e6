/** The content codings that a client takes, by its `Accept-Encoding` (RFC 9110, 12.5.3), in lower case. */
export function acceptedCodings(acceptEncoding: string | undefined): ReadonlySet<string> {
  return new Set((acceptEncoding ?? "").toLowerCase().split(",").flatMap(acceptedCoding));
}

/** `gzip;q=0` is one that is not taken. */
function acceptedCoding(member: string): readonly string[] {
  const [coding = "", ...parameters] = member.split(";").map((part) => part.trim());
  return parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter)) ? [] : [coding];
}
