import { Icon } from "./icon.tsx";

/** How urgent a state is. */
export type Tone = "ready" | "active" | "preparing" | "waiting" | "degraded" | "blocked";

/** The states of fleets, their members and generations, deployments and endpoints. */
const TONES: Readonly<Record<string, Tone>> = {
  ready: "ready",
  healthy: "ready",
  active: "active",
  preparing: "preparing",
  pending: "preparing",
  waiting: "waiting",
  retired: "waiting",
  superseded: "waiting",
  unknown: "waiting",
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
      {word.charAt(0).toUpperCase() + word.slice(1)}
    </span>
  );
}
