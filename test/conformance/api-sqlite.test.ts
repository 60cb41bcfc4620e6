import { apiConformance } from "./api/conformance.ts";
import { startOnSqlite } from "./api/start.ts";

apiConformance("SQLite", startOnSqlite);
