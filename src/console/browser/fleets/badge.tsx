import { StatusBadge } from "../parts/status-badge.tsx";
import type { FleetRow } from "./rows.ts";
import { stateWord } from "./rows.ts";

export function FleetBadge({ row }: { readonly row: FleetRow }) {
  const word = stateWord(row);
  const { status } = row.fleet;
  return <StatusBadge status={word === status ? status : "degraded"} word={word} />;
}
