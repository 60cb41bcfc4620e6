/** @module-tag needs/postgres */
import { describe } from "vitest";

import { isLong } from "../support/run/tier.ts";
import { WITHOUT_POSTGRES } from "../support/service/postgres.ts";
import { apiConformance } from "./api/conformance.ts";
import { startOnPostgres } from "./api/start.ts";

// In the gate, tests whose result does not depend on the store run on SQLite only (api-sqlite.test.ts).
describe.skipIf(WITHOUT_POSTGRES)("with PostgreSQL", () =>
  apiConformance("two replicas on PostgreSQL, requests alternating", () => startOnPostgres(2), isLong),
);
