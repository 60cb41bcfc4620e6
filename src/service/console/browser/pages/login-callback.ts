/** Takes the code to the program, which waits at the address that the person was shown, and nowhere else. */
export function goToProgram(redirect_url: string, callback_url: string): void {
  if (isListening(callback_url) && originOf(redirect_url) === originOf(callback_url)) location.assign(redirect_url);
}

/** A program that cannot listen asks the service itself; it names the port of the discard service (RFC 863), or none. */
const NO_PORTS: ReadonlySet<string> = new Set(["", "0", "9"]);

export function isListening(callback_url: string): boolean {
  try {
    return !NO_PORTS.has(new URL(callback_url).port);
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
