/** What pages ask of fleets. */
import { useMemo } from "preact/hooks";

import type { FleetNeeds } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { type FleetRow, fleetRowWith } from "../../../views/fleets.ts";
import { type Data, useData } from "../data/query.ts";

export interface Fleets {
  readonly fleets: Data<readonly FleetView[]>;
  readonly needs: Data<{ readonly items: readonly FleetNeeds[] }>;
  /** The fleets with their needs, as far as they are loaded. */
  readonly rows: readonly FleetRow[];
}

export function useFleets(): Fleets {
  const fleets = useData<readonly FleetView[]>("/v1/fleets", FLEET_TOPICS);
  const needs = useData<{ readonly items: readonly FleetNeeds[] }>("/v1/me/fleet-needs", FLEET_TOPICS);
  const views = fleets.value ?? NO_FLEETS;
  const known = needs.value?.items ?? null;
  return { fleets, needs, rows: useMemo(() => views.map(fleetRowWith(known)), [views, known]) };
}

/** What changes fleets. */
export const FLEET_TOPICS = ["fleets", "robots", "models"] as const;
const NO_FLEETS: readonly FleetView[] = [];

export function apiPath(id: string): string {
  return `/v1/fleets/${encodeURIComponent(id)}`;
}

export function fleetPath(id: string): string {
  return `/fleets/${encodeURIComponent(id)}`;
}
