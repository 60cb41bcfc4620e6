import { Icon } from "./icon.tsx";
import { capitalized, withSpaces } from "./text.ts";

/** How urgent a state is. */
export type Tone = "ready" | "active" | "preparing" | "waiting" | "degraded" | "blocked";

/** The states of robots and their computers, of fleets, their members and generations, deployments, endpoints and webhooks. */
const TONES: Readonly<Record<string, Tone>> = {
  ready: "ready",
  healthy: "ready",
  online: "ready",
  works: "ready",
  active: "active",
  preparing: "preparing",
  waiting: "waiting",
  retired: "waiting",
  superseded: "waiting",
  unknown: "waiting",
  offline: "degraded",
  not_ready: "degraded",
  not_monitored: "waiting",
  contested: "degraded",
  failing: "degraded",
  frozen: "blocked",
  revoked: "waiting",
  expired: "waiting",
  degraded: "degraded",
  blocked: "blocked",
  failed: "blocked",
  unhealthy: "blocked",
};

/** A newer service may send states that this page does not know. */
export function toneOf(status: string): Tone {
  return TONES[status] ?? "waiting";
}

/** A state as icon, word and colour, each sufficient alone. */
export function StatusBadge({ status, word = status }: { readonly status: string; readonly word?: string }) {
  const tone = toneOf(status);
  return (
    <span class="badge" data-tone={tone}>
      <Icon name={tone} />
      {capitalized(withSpaces(word))}
    </span>
  );
}
