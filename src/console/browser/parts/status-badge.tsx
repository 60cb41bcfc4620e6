import { Icon } from "./icon.tsx";

/** What a state means to a person, whatever it is the state of. */
export type Tone = "ready" | "active" | "preparing" | "waiting" | "degraded" | "blocked";

/** States of fleets, their members and generations, deployments and endpoints, and what each means. */
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

/** A state of a service that is newer than this page is shown by its word. */
export function toneOf(status: string): Tone {
  return TONES[status] ?? "waiting";
}

/** A state as icon, word and colour: each says it alone. */
export function StatusBadge({ status, word = status }: { readonly status: string; readonly word?: string }) {
  const tone = toneOf(status);
  return (
    <span class="badge" data-tone={tone}>
      <Icon name={tone} />
      {word.charAt(0).toUpperCase() + word.slice(1)}
    </span>
  );
}
