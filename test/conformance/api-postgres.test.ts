/** @module-tag needs/postgres */
import { describe } from "vitest";

import { isLong } from "../support/run/tier.ts";
import { WITHOUT_POSTGRES } from "../support/service/postgres.ts";
import { apiConformance } from "./api/conformance.ts";
import { startOnPostgres } from "./api/start.ts";

// In the gate, api-replicas.test.ts runs these tests on PostgreSQL with two replicas: the same queries, and more that can go wrong.
describe.skipIf(WITHOUT_POSTGRES || !isLong)("with PostgreSQL", () =>
  apiConformance("PostgreSQL", () => startOnPostgres(1)),
);
