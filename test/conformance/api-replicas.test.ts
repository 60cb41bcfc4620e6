import { describe } from "vitest";

import { isLong } from "../support/run/tier.ts";
import { WITHOUT_POSTGRES } from "../support/service/postgres.ts";
import { apiConformance } from "./api/conformance.ts";
import { startOnPostgres } from "./api/start.ts";

// In the gate, what is the same on every service is held on SQLite alone (api-sqlite.test.ts).
describe.skipIf(WITHOUT_POSTGRES)("with PostgreSQL", () =>
  apiConformance("two replicas on PostgreSQL, each request to the other", () => startOnPostgres(2), isLong),
);
