import type { RefusalView } from "../api/audit.ts";

/** Why a registration was refused, for a person: `region: Field required (422, 3 times)`. */
export function refusalInWords({ detail, status, count }: RefusalView): string {
  return `${detail} (${status}${count === 1 ? "" : `, ${count} times`})`;
}

/** Those since the robot registered last: the others are over. */
export function refusedSince(refusals: readonly RefusalView[], registeredAt: string | null): readonly RefusalView[] {
  return refusals.filter(({ last_at }) => registeredAt === null || Date.parse(last_at) > Date.parse(registeredAt));
}
