const SERVICE_KEY = /(?<![A-Za-z0-9])sk_[a-z0-9]+_[A-Za-z0-9_-]{16,}/;
/** Everything that may be a service key: cut short, or glued to what stands before it. */
const SERVICE_KEYS = /(?<![A-Za-z0-9])sk_[A-Za-z0-9]+_[A-Za-z0-9_-]*|sk_[a-z0-9]+_[A-Za-z0-9_-]{16,}/g;

/** Where a whole service key, `sk_<marker>_<key>`, stands in a text; -1 when there is none. */
export function serviceKeyOffset(text: string): number {
  // Looking for the fixed part first spares every boot the compilation of the pattern.
  return text.includes("sk_") ? text.search(SERVICE_KEY) : -1;
}

/** The text with everything that may be a service key replaced. */
export function maskSecrets(text: string): string {
  return text.replaceAll(SERVICE_KEYS, "sk_…");
}

/** As `maskSecrets`, but only in a text that holds a whole key: words about keys, such as `sk_live_…`, stay as they are. */
export function maskWholeKeys(text: string): string {
  return serviceKeyOffset(text) === -1 ? text : maskSecrets(text);
}
