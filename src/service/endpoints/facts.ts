import type { Tables } from "../kernel/store/tables.ts";

/** What the prober last found out about an endpoint. */
export type EndpointFacts = Pick<Tables["endpoints"], "health" | "health_since" | "last_probed_at" | "last_error">;
