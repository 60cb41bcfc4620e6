/** Takes the code to the program, which waits at the address that the person was shown, and nowhere else. */
export function goToProgram(redirectUrl: string, callbackUrl: string): void {
  if (isListening(callbackUrl) && originOf(redirectUrl) === originOf(callbackUrl)) location.assign(redirectUrl);
}

/** A program that cannot listen asks the service itself; it names the port of the discard service (RFC 863), or none. */
const NO_PORTS: ReadonlySet<string> = new Set(["", "0", "9"]);

export function isListening(callbackUrl: string): boolean {
  try {
    return !NO_PORTS.has(new URL(callbackUrl).port);
  } catch {
    return false;
  }
}

export function originOf(url: string): string {
  try {
    return new URL(url).origin;
  } catch {
    return "";
  }
}
