/** The reference of robot-policy-service, and robot-policy-service(8) with the same sections. */
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { Registry } from "prom-client";
import * as z from "zod";

import { DEPLOYMENT_STATUS_MEANINGS } from "../../src/api/deployments.ts";
import { FLEET_STATUS_MEANINGS } from "../../src/api/fleets.ts";
import { PRESENCE_MEANINGS } from "../../src/api/robot-views.ts";
import { AUDIT_ACTIONS } from "../../src/api/wire/audit-actions.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemFiles } from "../../src/platform/files/files.ts";
import { configurationSchema } from "../../src/service/configuration/configuration.ts";
import { addBackupFigure, addStoreFigures } from "../../src/service/figures.ts";
import { createMetrics } from "../../src/service/kernel/metrics.ts";
import type { Tables } from "../../src/service/kernel/store/tables.ts";
import { serviceProgram } from "../../src/service/program.ts";
import { isSignIn, VERBS } from "../../src/views/audit.ts";
import { keyTable } from "./keys.ts";
import { commandSection, exitSection } from "./program.ts";
import { example, type ManPage, page, type PageEdition, prose, synopsis } from "./roff.ts";
import { heading, meanings, roffOf, type Section, table, type Table, text } from "./section.ts";

const NAME = serviceProgram.name;

const STATES: Section = {
  title: "States",
  blocks: [
    heading("Fleets"),
    meanings("status", FLEET_STATUS_MEANINGS),
    text(
      "A single lost probe changes nothing: an endpoint fails after three in a row, and is healthy again after two. " +
        "`robot-policy fleets list` calls a fleet stuck that is preparing and does not become ready by itself.",
    ),
    heading("Deployments"),
    meanings("status", DEPLOYMENT_STATUS_MEANINGS),
    heading("Robots"),
    meanings("state", {
      ...PRESENCE_MEANINGS,
      contested: "computers register this name in turn",
      frozen: "two computers used its credential, and neither may do anything; lists show it as offline",
    }),
  ],
};

const AUDIT: Section = {
  title: "Audit actions",
  blocks: [
    table(
      ["action", "what the actor did"],
      AUDIT_ACTIONS.map((action) => [`\`${action}\``, isSignIn({ action }) ? VERBS[action] : `${VERBS[action]} …`]),
    ),
  ],
};

/** What the types of prom-client leave out. */
const METRIC = z.object({ name: z.string(), help: z.string(), type: z.string(), labelNames: z.array(z.string()) });

const METRICS: Section = {
  title: "Metrics",
  blocks: [
    text(
      "`/metrics` has them in the format of Prometheus. Further ones, `process_*` and `nodejs_*`, are those of prom-client: " +
        "`nodejs_eventloop_lag_p99_seconds` shows whether requests are held up.",
    ),
    metricTable(),
  ],
};

/** From the registry, which no store needs to fill. */
function metricTable(): Table {
  const registry = new Registry();
  const metrics = createMetrics(registry);
  const store = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (database) => new SqliteIntrospector(database),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
  addStoreFigures(store, metrics, systemClock, 0);
  addBackupFigure(metrics, systemFiles, "");
  const rows = registry.getMetricsAsArray().map((metric) => {
    const { name, help, type, labelNames } = METRIC.parse(metric);
    return [`\`${name}\``, help, type, labelNames.map((label) => `\`${label}\``).join(", ")];
  });
  return table(["metric", "meaning", "type", "labels"], rows);
}

const EXITS = exitSection({
  ok: "done",
  failed:
    "not possible on this machine or with this store: no store, no permission, address in use, no answer, nothing of that name",
  usage: "the command line is wrong",
  invalid: "a file is wrong: configuration, certificate or catalog",
  conflict: "the organization exists already",
  interrupted: "stopped by a signal",
});

const FILES: Section = {
  title: "Files",
  blocks: [
    meanings("path", {
      [`/etc/${NAME}/config.yaml`]: "the configuration; without it systemd does not start the service",
      [`/etc/${NAME}/config.example.yaml`]: "an example, to copy",
      [`/etc/${NAME}/models.example.yaml`]: "a catalog of models, with comments",
      [`/var/lib/${NAME}`]: "the store, unless it is a PostgreSQL database",
    }),
  ],
};

/** The sections of src/service/REFERENCE.md, and of robot-policy-service(8). */
export const serviceReference: readonly Section[] = [
  commandSection(serviceProgram),
  {
    title: "Configuration keys",
    blocks: [text("Flags of `serve` take precedence over the file."), keyTable(configurationSchema())],
  },
  STATES,
  METRICS,
  AUDIT,
  EXITS,
  FILES,
];

export function serviceManPage(edition: PageEdition): ManPage {
  const summary = "the robot policy service";
  const body = [
    ...synopsis(NAME),
    ".SH DESCRIPTION",
    prose(serviceProgram.summary),
    ...serviceReference.flatMap(roffOf),
    ".SH EXAMPLES",
    "A service under systemd, as root:",
    ...example([
      `cp /etc/${NAME}/config.example.yaml /etc/${NAME}/config.yaml    # edit it`,
      `${NAME} serve --check --config /etc/${NAME}/config.yaml`,
      `systemctl enable --now ${NAME}`,
    ]),
    ".SH SEE ALSO",
    ".BR robot\\-policy (1),",
    ".BR systemctl (1)",
  ];
  return { file: `${NAME}.8`, text: page({ name: NAME, section: 8, summary }, edition, body) };
}
