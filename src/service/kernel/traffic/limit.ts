/** Limits of the service by their name in the configuration; `store.waiting` is not configurable. */
export type Limit =
  | "rate_limit.credential"
  | "rate_limit.address"
  | "limits.connections"
  | "limits.connections_of_address"
  | "limits.in_flight_mib.credential"
  | "limits.in_flight_mib.address"
  | "limits.in_flight_mib.site"
  | "limits.in_flight_mib.all"
  | "limits.waiting_requests"
  | "limits.streams"
  | "store.waiting"
  | "limits.history_mib_per_day.key"
  | "limits.history_mib_per_day.organization"
  | "limits.robots.key"
  | "limits.robots.organization";
