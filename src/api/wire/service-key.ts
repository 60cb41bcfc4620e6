/** A service key `sk_<marker>_<key>`, or a token of our service, such as a robot's credential `rps_robot_<key>`. */
const SECRET = /(?<![A-Za-z0-9])(?:sk_[a-z0-9]+|rps_[a-z]+)_[A-Za-z0-9_-]{16,}/;
/** Everything that may be one: cut short, or glued to what stands before it. */
const SECRETS =
  /(?<![A-Za-z0-9])(?:sk_[A-Za-z0-9]+|rps_[a-z]+)_[A-Za-z0-9_-]*|(?:sk_[a-z0-9]+|rps_[a-z]+)_[A-Za-z0-9_-]{16,}/g;

/** Where a whole secret stands in a text; -1 when there is none. */
export function serviceKeyOffset(text: string): number {
  // Looking for the fixed parts first spares every boot the compilation of the pattern.
  return text.includes("sk_") || text.includes("rps_") ? text.search(SECRET) : -1;
}

/** The text with everything that may be a secret replaced by its beginning, `sk_…` or `rps_…`. */
export function maskSecrets(text: string): string {
  return text.replaceAll(SECRETS, (secret) => `${secret.slice(0, secret.indexOf("_"))}_…`);
}

/** As `maskSecrets`, but only in a text that holds a whole secret: words about keys, such as `sk_live_…`, stay as they are. */
export function maskWholeKeys(text: string): string {
  return serviceKeyOffset(text) === -1 ? text : maskSecrets(text);
}
