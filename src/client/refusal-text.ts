/** A refusal with its status, which `detail` has already where the service gave no reason: `HTTP 500 with plain text`. */
export function refusalText({ status, detail }: { readonly status: number; readonly detail: string }): string {
  const named = `status ${status} `;
  return detail.startsWith(named) ? `HTTP ${status} ${detail.slice(named.length)}` : `HTTP ${status}: ${detail}`;
}
