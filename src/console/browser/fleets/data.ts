import { useMemo } from "preact/hooks";

import type { FleetDetails, FleetMemberChanges, FleetNeeds } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { type Data, useData } from "../data/use-data.ts";
import { type FleetRow, fleetRows } from "./rows.ts";

export interface Fleets {
  readonly fleets: Data<readonly FleetView[]>;
  readonly needs: Data<{ readonly items: readonly FleetNeeds[] }>;
  /** The fleets with their needs, as far as they are loaded. */
  readonly rows: readonly FleetRow[];
}

export function useFleets(): Fleets {
  const fleets = useData<readonly FleetView[]>("/v1/fleets", TOPICS);
  const needs = useData<{ readonly items: readonly FleetNeeds[] }>("/v1/me/fleet-needs", TOPICS);
  const views = fleets.value ?? NO_FLEETS;
  const told = needs.value?.items;
  return { fleets, needs, rows: useMemo(() => fleetRows(views, told), [views, told]) };
}

const TOPICS = ["fleets", "robots", "models"] as const;
const NO_FLEETS: readonly FleetView[] = [];

export function useFleet(id: string): Data<FleetView> {
  return useData<FleetView>(`/v1/fleets/${encodeURIComponent(id)}`, TOPICS);
}

export function useFleetDetails(id: string): Data<FleetDetails> {
  return useData<FleetDetails>(`/v1/fleets/${encodeURIComponent(id)}/details`, TOPICS);
}

/** What reconciling the fleet would change. */
export function useMemberChanges(id: string): Data<FleetMemberChanges> {
  return useData<FleetMemberChanges>(`/v1/fleets/${encodeURIComponent(id)}/reconcile`, TOPICS);
}

export function fleetPath(id: string): string {
  return `/fleets/${encodeURIComponent(id)}`;
}
