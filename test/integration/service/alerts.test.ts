/**
 * The example alerts on the metrics of a real service, evaluated by Prometheus' own promtool.
 *
 * @module-tag needs/program
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { Agent, request } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

import { endpointListSchema } from "../../../src/api/endpoints.ts";
import { SQLITE_FILE } from "../../../src/service/kernel/store/sqlite/store.ts";
import { FAILING_AT_FIRST, PICKY, SHAKY, STEADY } from "../../conformance/api/catalog.ts";
import { eventually } from "../../support/eventually.ts";
import { testFolder } from "../../support/folder.ts";
import { openEnrolling } from "../../support/operator/enrolling.ts";
import { openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";
import { execute } from "../../support/programs/execute.ts";
import { hasProgram } from "../../support/programs/programs.ts";
import { runServiceCommand } from "../../support/service/service-command.ts";
import { beginWriting, type RunningService } from "../../support/service/service.ts";
import { testService } from "../../support/service/test-service.ts";
import { createAuthority, type Validity } from "../client/authority.ts";

const RULES = join(import.meta.dirname, "../../../config/prometheus-alerts.example.yaml");
const rulesSchema = z.object({ groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string() })) })) });
/** The labels that Prometheus adds. */
const FROM = 'instance="policy-1:443",job="robot-policy-service"';
const HOUR_S = 3600;
/** When the alerts are looked at: after every `for`. */
const AFTER_HOURS = 96;

/** The samples of the service, as Prometheus stores them: with where they are from. */
async function scrape(url: string): Promise<Map<string, number>> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const { body } = await request(`${url}/metrics`, { dispatcher });
  const text = await body.text();
  await dispatcher.close();
  const samples = new Map([[`up{${FROM}}`, 1]]);
  for (const [, name = "", labels = "", value = ""] of text.matchAll(
    /^(robot_policy_service_\w+)(?:\{(.*)\})? (\S+)$/gm,
  )) {
    // The clock of promtool begins at 0.
    const shift = name.endsWith("_seconds") && Number(value) > 1e9 ? Date.now() / 1000 - AFTER_HOURS * HOUR_S : 0;
    samples.set(`${name}{${[FROM, labels].filter((part) => part !== "").join(",")}}`, Number(value) - shift);
  }
  return samples;
}

/** Expects that exactly these alerts fire on samples that stay as they are. */
async function expectFiring(samples: ReadonlyMap<string, number>, names: readonly string[]): Promise<void> {
  const file = join(testFolder("promtool"), "test.json");
  const fired = names.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 }));
  const test = {
    interval: "1h",
    input_series: [...samples].map(([series, value]) => ({ series, values: `${value}x${AFTER_HOURS}` })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${AFTER_HOURS}h`,
        exp_samples: fired,
      },
    ],
  };
  await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: "1h", tests: [test] }));
  await execute(["promtool", "test", "rules", file]);
}

async function alertNames(): Promise<readonly string[]> {
  const { groups } = rulesSchema.parse(parse(await readFile(RULES, "utf8")));
  return groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
}

const dataFolderOf = ({ service }: OperatorSite) => service.dataDirectory;

it.skipIf(!hasProgram("promtool"))("a healthy site → no alert", async () => {
  await using site = await openOperatorSite();
  const { computer } = await openEnrolling(site).enroll("arm-1");
  expect((await computer.heartbeat()).status).toBe(200);
  await site.run(
    "fleets",
    "create",
    "--name",
    "packing",
    "--model",
    STEADY.slug,
    "--robot",
    "arm-1",
    "--peak",
    "1",
    "--wait",
  );
  for (const name of FAILING_AT_FIRST) site.inference.heal(name);
  await eventually(async () => {
    const { items } = endpointListSchema.parse(await (await site.service.send("GET", "/v1/endpoints")).json());
    return items.every(({ status }) => status === "healthy") ? true : undefined;
  }, "every endpoint healthy");
  expect(await runServiceCommand("backup", join(site.home, "b.db"), "--data", dataFolderOf(site))).toMatchObject({
    code: 0,
  });
  await expectFiring(await scrape(site.service.url), []);
});

it.skipIf(!hasProgram("promtool"))("everything that can be wrong → every alert", async () => {
  await using site = await openOperatorSite();
  const enrolling = openEnrolling(site);
  await enrolling.enroll("offline");
  const { computer } = await enrolling.enroll("not-ready");
  expect((await computer.heartbeat({ readiness: "not_ready", reason: "camera_right.yaml is missing" })).status).toBe(
    200,
  );
  await enrolling.enroll("frozen");
  await enrolling.start("waiting");
  const fleet = (name: string, model: string, ...more: string[]) =>
    site.run("fleets", "create", "--name", name, "--model", model, "--robot", "not-ready", "--peak", "1", ...more);
  await fleet("degraded", SHAKY.slug, "--wait");
  await fleet("blocked", PICKY.slug);
  site.inference.fail(SHAKY.endpoint);
  using database = new DatabaseSync(join(dataFolderOf(site), SQLITE_FILE));
  await beginWriting(database);
  database.exec(`update installations set state = 'frozen' where robot_id in (select id from robots where name = 'frozen');
    commit`);
  await eventually(async () => {
    const fleets: readonly { readonly status: string }[] = await site.json("fleets", "list");
    return fleets
      .map(({ status }) => status)
      .toSorted()
      .join(" ") === "blocked degraded"
      ? true
      : undefined;
  }, "the fleets' states");
  // Heartbeats reach the store together, a moment later.
  const readiness = database.prepare("select 1 from installations where readiness = 'not_ready'");
  await eventually(async () => readiness.get(), "the heartbeat in the store");
  const samples = await scrape(site.service.url);

  const ending = await serviceWithCertificate("ending");
  const certificate = [...(await scrape(ending.url))].find(([series]) => series.includes("certificate"));
  samples.set(...z.tuple([z.string(), z.number()]).parse(certificate));
  samples.set(`up{${FROM}}`, 0);
  await expectFiring(samples, await alertNames());
});

async function serviceWithCertificate(validity: Validity): Promise<RunningService> {
  const authority = createAuthority();
  onTestFinished(() => authority[Symbol.dispose]());
  const folder = testFolder("alerts");
  const tls = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  const { cert, key } = authority.issue("127.0.0.1", validity);
  await Promise.all([writeFile(tls.certFile, cert), writeFile(tls.keyFile, key)]);
  return testService({ configuration: { tls } });
}
