import { describe } from "vitest";

import { WITHOUT_POSTGRES } from "../support/postgres.ts";
import { apiConformance } from "./api/conformance.ts";
import { startOnPostgres } from "./api/start.ts";

describe.skipIf(WITHOUT_POSTGRES)("with PostgreSQL", () =>
  apiConformance("two replicas on PostgreSQL, each request to the other", () => startOnPostgres(2)),
);
