/** Redirects to the waiting program with the code, but only to the callback address that the person was shown. */
export function goToProgram(redirectUrl: string, callbackUrl: string): void {
  if (isListening(callbackUrl) && originOf(redirectUrl) === originOf(callbackUrl)) location.assign(redirectUrl);
}

/** A program that cannot listen polls the service instead; its callback has the discard port (RFC 863), or none. */
const NO_PORTS: ReadonlySet<string> = new Set(["", "0", "9"]);

export function isListening(callbackUrl: string): boolean {
  return !NO_PORTS.has(URL.parse(callbackUrl)?.port ?? "");
}

export function originOf(url: string): string {
  return URL.parse(url)?.origin ?? "";
}
